"""Verification: card -> plan -> launcher -> log -> criteria -> report -> evidence."""
