"""What each supported Megatron-Bridge release brings: its megatron-core, and the default of every setting."""
