#!/usr/bin/env bash
# What scripts/slurm/ refuse, freeze and name, with stand-ins for Slurm and for the programs; run.sh has the real ones.
#
#   tests/cluster/scripts.sh SOURCE_FOLDER
set -euo pipefail
unset CDPATH  # cd would look there first, and print where it went

slurm=$(cd "$1" && pwd)/scripts/slurm
. "$(cd "$1" && pwd)/tests/scripts/expect.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir bin
for program in sbatch waco-collect waco-tune; do
  printf '#!/bin/sh\nexit 0\n' >"bin/$program"
  chmod +x "bin/$program"
done
export PATH=$work/bin:$PATH WACO_BIN=$work/bin
export CDPATH=. # with which cd prints where it went
unset SBATCH_CONSTRAINT SBATCH_PARTITION

# ---- A run that ends early would count as a shard that is done.
expect 2 "--time-limit" "$slurm/submit.sh" limited -- waco-collect a.mtx --op spmv --time-limit 60
expect 2 "--time-limit" "$slurm/submit.sh" limited -- waco-collect a.mtx --op spmv --time-limit=60

# ---- Options that would let every task fail, or write elsewhere.
for option in -o --output=x -ox.jsonl --shard --json --emit --emit=kernel.cpp --calibrate --prepare --prepare=30; do
  expect 2 "submit: $option " "$slurm/submit.sh" refused -- waco-tune --op spmv "$option"
  [ ! -e refused ]
done
expect 2 "submit: -odata.jsonl " "$slurm/submit.sh" refused -- waco-collect --op spmv -odata.jsonl

for option in -a0-7%2 --array=0-3 -o --output=x; do
  expect 2 "submit: $option " "$slurm/submit.sh" refused "$option" -- waco-collect --op spmv a.mtx
done
expect 2 "--at-once takes a number" "$slurm/submit.sh" refused --at-once two -- waco-collect --op spmv a.mtx
printf '#!/bin/sh\necho "$@" >%s/submitted\n' "$work" >bin/sbatch
"$slurm/submit.sh" --shards 4 few --at-once 2 --time=1 -- waco-collect --op spmv a.mtx
grep -q -e '--array=0,1,2,3%2 ' submitted
printf '#!/bin/sh\nexit 0\n' >bin/sbatch

# ---- A line warns of nodes of several kinds, unless an option chooses among them.
expect 0 "submit: neither --constraint nor --partition: " "$slurm/submit.sh" kinds --time=1 -- waco-collect --op spmv a.mtx
[ "$(wc -l <err)" -eq 1 ]
for option in --constraint=zen4 -Czen4 --nodelist=n1 -wn1 --partition=zen4 -pzen4; do
  expect 0 "" "$slurm/submit.sh" kinds "$option" -- waco-collect --op spmv a.mtx
  [ ! -s err ]
done
expect 0 "" "$slurm/submit.sh" kinds --constraint zen4 -- waco-collect --op spmv a.mtx
[ ! -s err ]
SBATCH_CONSTRAINT=zen4 expect 0 "" "$slurm/submit.sh" kinds -- waco-collect --op spmv a.mtx
[ ! -s err ]

# ---- The inputs are those of the first submission.
submit() { "$slurm/submit.sh" --shards 2 job -- waco-collect --op spmv "$@"; }
mkdir -p matrices/sub model
touch matrices/b.mtx matrices/a.mtx.gz matrices/sub/c.mtx matrices/notes.txt x.mtx
printf '# listed\n\n  x.mtx  \n' >list.txt
submit --model model -q matrices --list list.txt --seed 3
printf '%s\n' matrices/a.mtx.gz matrices/b.mtx matrices/sub/c.mtx x.mtx | diff - job/list
printf '%s\n' waco-collect 2 --op spmv --model model -q --seed 3 --list "$work/job/list" | diff - job/arguments
submit --model model -q matrices --list=list.txt --seed 3
touch matrices/aa.mtx
expect 2 "--list $work/job/list" submit --model model -q matrices --list list.txt --seed 3
submit --model model -q --list job/list --seed 3
expect 2 "other options" submit --model model -q --list job/list --seed 4
mkdir -p HB/w
touch HB/w/w.mtx HB/w/w_b.mtx HB/w.tar.gz HB/z.tgz
"$slurm/submit.sh" archives -- waco-collect --op spmv --clustered HB
printf '%s\n' HB/w/w.mtx HB/z.tgz | diff - archives/list
mkdir bytes
touch bytes/$'m\xff.mtx' bytes/$'m\xfe.mtx'
printf 'listed\xc3.mtx\n' >bytes.txt
LC_ALL=C.UTF-8 "$slurm/submit.sh" named -- waco-collect --op spmv bytes --list bytes.txt
printf '%s\n' bytes/$'m\xfe.mtx' bytes/$'m\xff.mtx' $'listed\xc3.mtx' | cmp - named/list
mkdir -p torn/$'sub\nfolder'
touch torn/a.mtx torn/$'sub\nfolder/b.mtx'
expect 2 "the name of a file in torn holds a line end" "$slurm/submit.sh" refused -- waco-collect --op spmv torn
[ ! -e refused ]
mkdir empty
expect 3 "empty holds no .tns" "$slurm/submit.sh" none -- waco-collect empty --op mttkrp
expect 3 "needs --list" "$slurm/submit.sh" none -- waco-tune --op spmv
"$slurm/submit.sh" tuned -- waco-tune --list - --op spmv <list.txt
[ "$(cat tuned/list)" = x.mtx ]

# ---- Shards that Slurm still has are not submitted again.
cat >bin/sbatch <<'END'
#!/bin/sh
echo "$@" >>"$0.submitted"
echo 71
END
printf '#!/bin/sh\nprintf "70 0\\n71 1\\n"\n' >bin/squeue
chmod +x bin/squeue
expect 0 "" "$slurm/submit.sh" --shards 3 queue -- waco-collect --op spmv --synthetic 2
grep -q "Submitted batch job 71" out
grep -q -- "--array=0,1,2 " bin/sbatch.submitted
expect 0 "1 of 3 shards are in the queue already" "$slurm/submit.sh" --shards 3 queue -- waco-collect --op spmv --synthetic 2
tail -n 1 bin/sbatch.submitted | grep -q -- "--array=0,2 "
touch queue/done/0 queue/done/2
expect 0 "1 of 3 shards are in the queue already" "$slurm/submit.sh" --shards 3 queue -- waco-collect --op spmv --synthetic 2
[ "$(wc -l <bin/sbatch.submitted)" -eq 2 ]
printf '#!/bin/sh\nif [ "$4" = -M ]; then echo "CLUSTER: $5"; echo "72 1"; else echo "72 0"; fi\n' >bin/squeue
printf '70\n72;far\n' >queue/jobs
rm queue/done/0
expect 0 "1 of 3 shards are in the queue already" "$slurm/submit.sh" --shards 3 queue -- waco-collect --op spmv --synthetic 2
tail -n 1 bin/sbatch.submitted | grep -q -- "--array=0 "
printf '#!/bin/sh\nexit 1\n' >bin/squeue
expect 1 "squeue can't tell" "$slurm/submit.sh" --shards 3 queue -- waco-collect --op spmv --synthetic 2

# ---- Shards that are done without some of their inputs are named, and one without its dataset stops the join.
echo 0 >job/done/0
expect 6 "not done: 1" "$slurm/merge.sh" job
echo 6 >job/done/1
echo '{}' >job/data.0-of-2.jsonl
expect 3 "data.1-of-2.jsonl is missing" "$slurm/merge.sh" job
touch job/data.1-of-2.jsonl
expect 3 "data.1-of-2.jsonl is missing or empty" "$slurm/merge.sh" job
echo '{}' >job/data.1-of-2.jsonl
expect 6 "job/logs/1.log" "$slurm/merge.sh" job
echo 0 >job/done/1
expect 0 "" "$slurm/merge.sh" job

# ---- Options of the join stand anywhere; what is none is refused.
rm job/done/1
expect 6 "not done: 1" "$slurm/merge.sh" job
expect 0 "not done: 1" "$slurm/merge.sh" job --partial --allow-different-machines
expect 0 "not done: 1" "$slurm/merge.sh" --partial job

# ---- A shard that was killed before it wrote anything is left out.
: >job/data.1-of-2.jsonl
printf '#!/bin/sh\necho "$@" >>merged\n' >bin/waco-collect
expect 0 "not done: 1" "$slurm/merge.sh" --partial job
[ "$(head -n 1 merged)" = "merge job/data.0-of-2.jsonl -o job/data.jsonl.gz" ]
printf '{"format":"waco-da' >job/data.0-of-2.jsonl
expect 3 "there is no dataset in job" "$slurm/merge.sh" --partial job
expect 2 "unknown option --partal" "$slurm/merge.sh" job --partal
expect 2 "one folder" "$slurm/merge.sh" job other
expect 2 "merge.sh FOLDER" "$slurm/merge.sh" --partial
expect 2 "is for collections" "$slurm/merge.sh" tuned --allow-different-machines

# ---- A result that a failing machine cut short counts as failed.
touch tuned/done/0
for input in whole cut; do
  failed=$([ $input = cut ] && echo true || echo false)
  echo "{\"input\":\"$input\",\"status\":\"done\",\"machine_failed\":$failed,\"stopped_by\":\"no space\"," \
    "\"matrix\":{\"name\":\"$input\",\"nnz\":5},\"best\":{\"speedup\":2.65,\"plan\":\"p\"}}"
done >tuned/tuned.jsonl
# Speedups are read with a decimal point, in whatever locale: awk notes in which one it prints.
printf '#!/bin/sh\ncase "$*" in *printf*) echo "$LC_ALL" >>"%s" ;; esac\nexec "%s" "$@"\n' "$work/locales" "$(command -v awk)" >bin/awk
chmod +x bin/awk
LC_ALL=C.UTF-8 expect 6 "cut: cut short: no space" "$slurm/merge.sh" tuned
grep -q "^geometric mean 2.650 over 1 " out
echo C | diff - locales
rm bin/awk
[ "$(jq -r .input tuned/results.jsonl)" = whole ]

# ---- A program that its task asks to stop gets SIGUSR1, whatever the task got; a shard that was stopped is not done.
cat >bin/waco-collect <<'END'
#!/usr/bin/env bash
trap 'echo USR1 >>signals; exit 0' USR1
trap 'echo TERM >>signals' TERM
touch started
while :; do sleep 0.1; done
END
mkdir -p stopped/done
printf '%s\n' waco-collect 1 --op spmv >stopped/arguments
SLURM_ARRAY_JOB_ID=1 SLURM_ARRAY_TASK_ID=0 bash "$slurm/task.sbatch" "$work/stopped" "$work/bin/waco-collect" 2>log &
task=$!
for ((i = 0; i < 100; ++i)); do
  [ ! -e started ] || break
  sleep 0.1
done
kill -TERM "$task"
code=0
wait "$task" || code=$?
[ $code -eq 143 ] || { echo "scripts: a task that was stopped ended with code $code" >&2 && exit 1; }
echo USR1 | diff - signals
[ ! -e stopped/done/0 ]
