#!/usr/bin/env bash
# A Slurm cluster of this machine: a controller and node daemons, everything in one folder. To be sourced; needs root and
# the Debian packages slurm-wlm and munge.
#
#   start_slurm FOLDER NODES   afterwards sbatch, squeue and the others talk to it (SLURM_CONF)
#   stop_slurm FOLDER

# shellcheck shell=bash

start_slurm() {
  local folder=$1 nodes=$2 host port i
  host=$(hostname -s)
  port=$((20000 + RANDOM % 20000))
  mkdir -p "$folder"/{munge,state,spool,log,run}
  chmod 700 "$folder/munge"
  dd if=/dev/urandom of="$folder/munge/key" bs=1024 count=1 status=none
  chmod 400 "$folder/munge/key"
  # The socket's folder must be open to all, its key to none.
  chmod 755 "$folder" "$folder/run"
  munged --force --key-file="$folder/munge/key" --socket="$folder/run/munge.socket" --pid-file="$folder/run/munged.pid" \
    --log-file="$folder/munge/munged.log" --seed-file="$folder/munge/seed"

  {
    cat <<END
ClusterName=waco
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/run/munge.socket,cred_expire=5
CredType=cred/munge
SlurmctldPort=$port
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool/%n
SlurmctldPidFile=$folder/run/slurmctld.pid
SlurmdPidFile=$folder/run/slurmd.%n.pid
SlurmctldLogFile=$folder/log/slurmctld.log
SlurmdLogFile=$folder/log/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=5,sched_interval=5
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
KillWait=5
InactiveLimit=0
MinJobAge=3600
END
    for ((i = 1; i <= nodes; ++i)); do
      mkdir -p "$folder/spool/n$i"
      echo "NodeName=n$i NodeHostname=$host NodeAddr=127.0.0.1 Port=$((port + i)) CPUs=1 RealMemory=1000 State=UNKNOWN"
    done
    echo "PartitionName=test Nodes=n[1-$nodes] Default=YES MaxTime=INFINITE State=UP"
  } >"$folder/slurm.conf"
  export SLURM_CONF=$folder/slurm.conf

  slurmctld -f "$SLURM_CONF" -L "$folder/log/slurmctld.log"
  for ((i = 1; i <= nodes; ++i)); do slurmd -f "$SLURM_CONF" -N "n$i"; done
  for ((i = 0; i < 60; ++i)); do
    [ "$(sinfo -h -t idle -o %D 2>/dev/null || true)" = "$nodes" ] && return 0
    sleep 0.5
  done
  echo "slurm: $nodes nodes did not come up; the logs are in $folder/log" >&2
  sinfo >&2 || true
  return 1
}

# Ends the daemons by their own ids.
stop_slurm() {
  local folder=$1 file
  for file in "$folder"/run/slurmd.*.pid "$folder/run/slurmctld.pid" "$folder/run/munged.pid"; do
    if [ -s "$file" ]; then kill "$(cat "$file")" 2>/dev/null || true; fi
  done
  sleep 2
}
