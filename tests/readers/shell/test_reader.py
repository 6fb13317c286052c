import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mbridge_skills.config.view import UNKNOWN
from mbridge_skills.errors import InputError
from mbridge_skills.readers.shell import read_shell

MEGATRON = "default of Megatron-LM's arguments"


def read_all(text):
    return read_shell(textwrap.dedent(text), Path("launch.sh"))


def read_one(text):
    (config,) = read_all(text)
    return config


def values(config):
    return {path: each.value for path, each in config.settings.items() if each.origin.note != MEGATRON}


RUN = "torchrun train.py"

HITS = [
    (f"{RUN} ddp.a=1", {"ddp.a": 1}),
    (f"{RUN} \\\n  ddp.a=1 \\\n  ddp.b=2", {"ddp.a": 1, "ddp.b": 2}),
    (f"A=(\n ddp.a=1 # one\n # ddp.c=1\n 'ddp.b=x y'\n)\n{RUN} \"${{A[@]}}\"", {"ddp.a": 1, "ddp.b": "x y"}),
    (f"A=(ddp.a=1)\nA+=(ddp.b=2)\n{RUN} ${{A[@]}}", {"ddp.a": 1, "ddp.b": 2}),
    (f"A=(ddp.a=1)\nB=(\"${{A[@]}}\" ddp.b=2)\n{RUN} ${{B[*]}}", {"ddp.a": 1, "ddp.b": 2}),
    (f'A=("--use-megatron-fsdp --ckpt-format x")\n{RUN} ${{A[@]}}', {"ddp.use_megatron_fsdp": True, "checkpoint.ckpt_format": "x"}),
    (f'O="ddp.a=1"\nO="$O ddp.b=2"\nO+=" ddp.c=3"\n{RUN} $O', {"ddp.a": 1, "ddp.b": 2, "ddp.c": 3}),
    (f'O=" \\\n  ddp.a=1 \\\n  ddp.b=2 "\n{RUN} $O', {"ddp.a": 1, "ddp.b": 2}),
    (f"TP=${{TP:-2}}\n{RUN} model.tp=$TP ddp.a=1", {"model.tp": 2, "ddp.a": 1}),
    (f"{RUN} model.tp=${{TP:-2}} ddp.a=1", {"model.tp": 2, "ddp.a": 1}),
    (f"N=2\nM=$((N * 4 + 1))\n{RUN} ddp.a=$M", {"ddp.a": 9}),
    (f"N=7\n{RUN} ddp.a=$((N / 2)) ddp.b=$((N % 4))", {"ddp.a": 3, "ddp.b": 3}),
    ("srun uv run --no-sync python -m torch.distributed.run --nnodes=1 x/train.py ddp.a=1", {"ddp.a": 1}),
    ("python -m package.train --recipe x ddp.a=1", {"ddp.a": 1}),
    ('CMD="python train.py"\nCMD="$CMD ddp.a=1"\nsrun bash -c "$CMD"', {"ddp.a": 1}),
    ('CMD="python train.py ddp.a=1"\neval $CMD', {"ddp.a": 1}),
    ('srun bash -lc "\n set -e\n cd /x && python train.py ddp.a=1\n"', {"ddp.a": 1}),
    ("sbatch <<EOF\n#!/bin/bash\nsrun python train.py ddp.a=1\nEOF", {"ddp.a": 1}),
    ("A=1\nbash <<EOF\npython train.py ddp.a=$A\nEOF", {"ddp.a": 1}),
    (f"if [[ 1 == 1 ]]; then A=1; else A=2; fi\n{RUN} ddp.a=$A", {"ddp.a": 1}),
    (f'X=b\nif [ "$X" = a ]; then A=1; elif [ "$X" = b ]; then A=2; else A=3; fi\n{RUN} ddp.a=$A', {"ddp.a": 2}),
    (f'X=5\n[ "$X" -gt 3 ] && A=1\n{RUN} ddp.a=$A', {"ddp.a": 1}),
    (f'X=\n[ -n "$X" ] && A=1 || A=2\n{RUN} ddp.a=$A', {"ddp.a": 2}),
    (f"X=ab\ncase $X in\n a*) A=1 ;;\n *) A=2 ;;\nesac\n{RUN} ddp.a=$A", {"ddp.a": 1}),
    (f"f() {{ A=$1; }}\nf 3\n{RUN} ddp.a=$A", {"ddp.a": 3}),
    (f"go() {{ {RUN} \"$@\" ddp.b=2; }}\ngo ddp.a=1", {"ddp.a": 1, "ddp.b": 2}),
    (f"for X in ddp.a=1 ddp.b=2; do O=\"$O $X\"; done\nO=\nfor X in ddp.a=1 ddp.b=2; do O=\"$O $X\"; done\n{RUN} $O", {"ddp.a": 1, "ddp.b": 2}),
    (f"IFS=',' read -r TP PP <<< '2,4'\n{RUN} ddp.a=$TP ddp.b=$PP", {"ddp.a": 2, "ddp.b": 4}),
    (f"{RUN} $(echo \"ddp.a=1\n ddp.b=2\" | tr '\\n' ' ' | sed 's/  \\+/ /g')", {"ddp.a": 1, "ddp.b": 2}),
    (f"P=a/b.sh\n{RUN} ddp.a=${{P%.sh}} ddp.b=${{P##*/}}", {"ddp.a": "a/b", "ddp.b": "b.sh"}),
    (f"CONTAINER=\"\"\nif [ -z \"$CONTAINER\" ]; then echo needed; exit 1; fi\n{RUN} ddp.a=1", {"ddp.a": 1}),
    (f"mkdir x || exit 1\nif [ ! -f y ]; then exit 1; fi\n{RUN} ddp.a=1", {"ddp.a": 1}),
    (f"{RUN} ddp.a=1 \"$@\"", {"ddp.a": 1}),
    (f"A=1 {RUN} ddp.a=1", {"ddp.a": 1}),
    (f"{RUN} ddp.a=1 2>&1 | tee log &", {"ddp.a": 1}),
    ("exec python train.py ddp.a=1", {"ddp.a": 1}),
    ("env X=1 python train.py ddp.a=1", {"ddp.a": 1}),
    (f"{RUN} --use_megatron_fsdp false -tp 2 ddp.a=1", {"ddp.a": 1, "model.tensor_model_parallel_size": 2}),
    (f"F=--use-megatron-fsdp\n{RUN} $F", {"ddp.use_megatron_fsdp": True}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), HITS, ids=range(len(HITS)))
def test_what_is_set(text, expected):
    assert values(read_one(text)) == expected


UNKNOWNS = [
    f"{RUN} ddp.a=$UNSET",
    f"{RUN} ddp.a=$1",
    f"{RUN} ddp.a=$(cat x)",
    f"{RUN} ddp.a=`date`",
    f"{RUN} ddp.a=$(echo 1 | sort)",
    f"{RUN} ddp.a=$((UNSET + 1))",
    f"A=1\nsource other.sh\n{RUN} ddp.a=$A",
    f"A=1\n. ./other.sh\n{RUN} ddp.a=$A",
    f"read A\n{RUN} ddp.a=$A",
    f"A=(1 2)\n{RUN} ddp.a=${{#A[@]}}",
    f"A=x\n{RUN} ddp.a=${{A/x/y}}",
    f"A=0\nwhile some_command; do A=1; done\n{RUN} ddp.a=$A",
    f"A=0\nfor X in $UNSET; do A=$X; done\n{RUN} ddp.a=$A",
    f"A=0\nfor X in $(seq 1 3); do A=$X; done\n{RUN} ddp.a=$A",
    f"A=0\nsome_command || A=1\n{RUN} ddp.a=$A",
    f"A=10**3\n{RUN} ddp.a=$((A))",
    f"(( A = 3 ))\n{RUN} ddp.a=$A",
    f"A=$'x\\ty'\n{RUN} ddp.a=$A",
    f"shift\n{RUN} ddp.a=$2",
    f"A=1\nB=A\n{RUN} ddp.a=${{!B}}",
    f"printf -v A %d 3\n{RUN} ddp.a=$A",
    f"A[0]=1\n{RUN} ddp.a=$A",
]  # fmt: skip


@pytest.mark.parametrize("text", UNKNOWNS, ids=range(len(UNKNOWNS)))
def test_what_is_left_unknown(text):
    assert read_one(text).settings["ddp.a"].value is UNKNOWN


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# torchrun train.py ddp.a=1",
        "echo torchrun train.py ddp.a=1",
        'echo "python train.py --use-megatron-fsdp"',
        "A=(--use-megatron-fsdp)",
        "python convert.py --trust-remote-code --seed 3",
        "python evaluate.py --lr 1",
        "cat > x.sh <<EOF\ntorchrun train.py ddp.a=1\nEOF",
        ": <<'EOF'\ntorchrun train.py ddp.a=1\nEOF",
        "f() { torchrun train.py ddp.a=1; }",
        "if false; then torchrun train.py ddp.a=1; fi",
        "exit 0\ntorchrun train.py ddp.a=1",
        "grep ddp.a=1 file.py",
        "git commit -m 'ddp.a=1'",
        "A='torchrun train.py ddp.a=1'\necho $A",
        "sed -i s/ddp.a=1/ddp.a=2/ x.py",
    ],
)
def test_what_launches_nothing(text):
    assert read_all(text) == []


class TestOutcomes:
    TEXT = """\
        #!/bin/bash
        FSDP=${FSDP:-0}
        ARGS=(--tensor-model-parallel-size 2 --bf16 --use-distributed-optimizer)
        if [[ ${FSDP} == 1 ]]; then
            unset CUDA_DEVICE_MAX_CONNECTIONS
            ARGS+=(
                --use-megatron-fsdp
                # --ckpt-format torch_dist
                --ckpt-format fsdp_dtensor
            )
        else
            export CUDA_DEVICE_MAX_CONNECTIONS=1
        fi
        torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py "${ARGS[@]}"
        """

    def test_both_are_read(self):
        first, second = read_all(self.TEXT)
        assert first.conditions == ("FSDP == 1",)
        assert second.conditions == ("FSDP != 1",)
        assert first.settings["ddp.use_megatron_fsdp"].value is True
        assert first.settings["checkpoint.ckpt_format"].value == "fsdp_dtensor"
        assert first.environment["CUDA_DEVICE_MAX_CONNECTIONS"].value is None
        assert "ddp.use_megatron_fsdp" not in second.settings
        assert second.environment["CUDA_DEVICE_MAX_CONNECTIONS"].value == "1"
        assert first.world_size == second.world_size == 16

    def test_places(self):
        config = read_all(self.TEXT)[0]
        assert str(config.settings["ddp.use_megatron_fsdp"].origin) == "launch.sh:7:9"
        assert str(config.settings["model.bf16"].origin) == "launch.sh:3:38"
        assert str(config.environment["CUDA_DEVICE_MAX_CONNECTIONS"].origin).startswith("launch.sh:14")

    @pytest.mark.parametrize(
        ("test", "conditions"),
        [
            ('[ "${FSDP:-0}" = "1" ]', {("FSDP == 1",), ("FSDP != 1",)}),
            ('[ "$FSDP" -eq 1 ]', {("FSDP == 1",), ("FSDP != 1",)}),
            ('[[ -n "$FSDP" ]]', {("-n FSDP",), ("-z FSDP",)}),
            ("[ -f /x ]", {("-f /x",), ("! -f /x",)}),
            ("[[ $A == 1 && $B == 2 ]]", {("A == 1 && B == 2",), ("not (A == 1 && B == 2)",)}),
        ],
    )
    def test_conditions_read_like_tests(self, test, conditions):
        configs = read_all(f"if {test}; then X=1; else X=2; fi\n{RUN} ddp.a=$X")
        assert {config.conditions for config in configs} == conditions
        assert {config.settings["ddp.a"].value for config in configs} == {1, 2}

    def test_the_same_test_has_the_same_outcome(self):
        text = f"if [ $F = 1 ]; then X=1; else X=2; fi\nif [ $F = 1 ]; then Y=1; else Y=2; fi\n{RUN} ddp.a=$X ddp.b=$Y"
        assert [values(config) for config in read_all(text)] == [
            {"ddp.a": 1, "ddp.b": 1},
            {"ddp.a": 2, "ddp.b": 2},
        ]

    def test_in_the_branch_the_variable_has_the_value(self):
        configs = read_all(f'if [ "${{F:-0}}" = 3 ]; then X=$F; else X=no; fi\n{RUN} ddp.a=$X')
        assert {config.settings["ddp.a"].value for config in configs} == {3, "no"}

    def test_case(self):
        text = f"case $MODE in\n a) X=1 ;;\n b|c) X=2 ;;\nesac\n{RUN} ddp.a=$X ddp.b=1"
        assert {config.conditions for config in read_all(text)} == {
            ("MODE is a",),
            ("MODE is b or c",),
            ("MODE is something else",),
        }

    def test_what_makes_no_difference_is_no_condition(self):
        text = f'if [ -f x ]; then echo a; fi\nif [ -n "$M" ]; then S="srun --mounts=$M"; else S=srun; fi\n$S {RUN} ddp.a=1'
        assert read_one(text).conditions == ()

    def test_many_tests_are_unknown_and_not_many_configurations(self):
        lines = "".join(f"if [ $F{i} = 1 ]; then X{i}=1; else X{i}=2; fi\n" for i in range(8))
        config = read_one(f"{lines}{RUN} {' '.join(f'ddp.a{i}=$X{i}' for i in range(8))} ddp.b=1")
        assert config.settings["ddp.b"].value == 1
        assert config.settings["ddp.a0"].value is UNKNOWN
        assert config.settings["ddp.a7"].value is UNKNOWN

    def test_four_tests_are_sixteen_configurations(self):
        lines = "".join(f"if [ $F{i} = 1 ]; then X{i}=1; else X{i}=2; fi\n" for i in range(4))
        assert len(read_all(f"{lines}{RUN} {' '.join(f'ddp.a{i}=$X{i}' for i in range(4))}")) == 16


def test_each_launch_is_a_configuration():
    configs = read_all(f"for TP in 1 2; do\n  {RUN} ddp.a=$TP\ndone\n{RUN} ddp.b=1\n")
    assert [(config.name, values(config)) for config in configs] == [
        ("launch:2", {"ddp.a": 1}),
        ("launch:2", {"ddp.a": 2}),
        ("launch:4", {"ddp.b": 1}),
    ]


def test_a_default_is_noted():
    setting = read_one(f"TP=${{TP:-2}}\n{RUN} ddp.a=$TP").settings["ddp.a"]
    assert setting.origin.note == "unless TP is set in the environment"


def test_words_that_are_not_known_may_set_anything():
    assert read_one(f"{RUN} ddp.a=1 $EXTRA").covers("ddp.b")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("export A=1", {"A": "1"}),
        ("A=1\nexport A", {"A": "1"}),
        ("export A=1 B=2", {"A": "1", "B": "2"}),
        ("declare -x A=1", {"A": "1"}),
        ("export A=1\nunset A", {"A": None}),
        ("unset A B", {"A": None, "B": None}),
        ("A=1", {}),
        ("# export A=1", {}),
        ("export A=$UNSET", {"A": UNKNOWN}),
        ("export A=$(date)", {"A": UNKNOWN}),
        ("export A=${A:-3}", {"A": "3"}),
        ("export MY_API_KEY=abc", {"MY_API_KEY": UNKNOWN}),
        ("(export A=1)", {}),
        ("export A=1 | cat", {}),
    ],
)
def test_environment(text, expected):
    config = read_one(f"{text}\n{RUN} ddp.a=1")
    assert {name: each.value for name, each in config.environment.items()} == expected


@pytest.mark.parametrize(
    "text",
    [
        "A=1 torchrun t.py ddp.a=1",
        "env A=1 torchrun t.py ddp.a=1",
        "srun bash -c 'export A=1; torchrun t.py ddp.a=1'",
    ],
)
def test_environment_of_one_command(text):
    first, second = read_all(f"{text}\ntorchrun t.py ddp.b=1")
    assert first.environment["A"].value == "1"
    assert not second.environment


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("torchrun --nproc_per_node=8 t.py ddp.a=1", 8),
        ("torchrun --nproc-per-node 8 --nnodes 2 t.py ddp.a=1", 16),
        ("N=4\nG=2\npython -m torch.distributed.run --nproc_per_node $G --nnodes $N t.py ddp.a=1", 8),
        ("torchrun --nproc_per_node=gpu t.py ddp.a=1", UNKNOWN),
        ("torchrun --nproc_per_node=8 --nnodes=1:4 t.py ddp.a=1", UNKNOWN),
        ("torchrun --nproc_per_node=$X t.py ddp.a=1", UNKNOWN),
        ("python t.py ddp.a=1", UNKNOWN),
        ("srun python t.py ddp.a=1", UNKNOWN),
        ("srun -n 4 python t.py ddp.a=1", 4),
        ("#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8  # GPUs\nsrun python t.py ddp.a=1", 16),
        ("#SBATCH -N 2\n#SBATCH --ntasks-per-node 8\nsrun bash -c 'python t.py ddp.a=1'", 16),
        ("#SBATCH --nodes=2\n#SBATCH --gpus-per-node=4\nsrun torchrun --nnodes $SLURM_NNODES --nproc_per_node $SLURM_GPUS_PER_NODE t.py ddp.a=1", 8),
        ("##SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\nsrun python t.py ddp.a=1", UNKNOWN),
        ("python setup_experiment.py -ng 64 -tp 2 ddp.a=1", 64),
    ],
)  # fmt: skip
def test_world_size(text, size):
    assert read_one(text).world_size == size


@pytest.mark.parametrize(("text", "line"), [("A=1\nif true; then\n", 1), ("A=(\n", 1), ("X=<here>\n", 1)])
def test_what_is_not_bash_is_an_error_with_its_line(text, line):
    with pytest.raises(InputError, match="not valid bash") as caught:
        read_shell(text, Path("x.sh"))
    assert caught.value.where.line >= line


def test_letters_beyond_ascii():
    config = read_one(f'NAME="größe → 3"\n{RUN} "ddp.ä=1" ddp.a="$NAME" ddp.b=2 # ü')
    assert config.settings["ddp.a"].value == "größe → 3"
    assert config.settings["ddp.b"].origin.line == 2


def test_nothing_is_executed(canary):
    read_all(
        f"touch {canary}\nX=$(touch {canary})\neval 'touch {canary}'\nbash -c 'touch {canary}'\n: > {canary}\n"
    )


def test_work_is_bounded():
    read_all("f() { g; g; }\ng() { h; h; }\nh() { f; f; }\nf\n" + f"{RUN} ddp.a=1\n")
    read_all("A=x\n" + "A=$A$A\n" * 60 + f"{RUN} ddp.a=$A\n")


LINES = st.sampled_from(
    [
        "A=1",
        'A="$A b $B"',
        "A=(x $A 'y')",
        'A+=("${B[@]}")',
        "if [ $A = 1 ]; then",
        "elif [[ -n $B ]]; then",
        "else",
        "fi",
        "for X in $A 1; do",
        "while read L; do",
        "done",
        "case $A in",
        "a) B=1 ;;",
        "esac",
        "f() {",
        "}",
        "f $A",
        "cat <<EOF",
        "EOF",
        'bash -c "$A"',
        "eval $A",
        "export B=${A:-$B}",
        "unset A",
        "X=$((A + $B))",
        "torchrun t.py ddp.a=$A ${B[@]} \\",
        "exit",
        "return 1",
        "source x",
        "[ $A ] && B=2 || exit 1",
        "`",
        '"',
        "$(",
        ")",
    ]
)


@given(st.lists(LINES, max_size=14))
def test_any_lines_are_read_or_refused(lines):
    try:
        read_shell("\n".join(lines))
    except InputError as error:
        assert "not valid bash" in str(error)


def test_a_function_that_calls_itself_ends():
    assert read_all(f"f() {{ f; A=1; }}\nf\n{RUN} ddp.a=1")
