# What a job made earns for its kind whenever it is used: an answer what it
# saves less what it took, slices what they save.
plan p1 takes 4s reads 10 says 3 writes 20 makes entry saving 9s
plan d1 takes 2s makes chunk saving 1s
due mail populate p1
due mail decode d1
step 2
  done: mail populate p1
  done: mail decode d1
used mail 2s entry
used mail 10s entry
loaded mail 1s chunk
loaded mail 1s chunk
loaded mail 1s other
used notes 1s entry
ledger mail
  populate: 1 done, 0 failed, 0 preempted, 4 s, 10 read, 3 said, 20 bytes; 2 uses earned 7 s
  decode: 1 done, 0 failed, 0 preempted, 2 s, 0 read, 0 said, 0 bytes; 2 uses earned 2 s
ledger notes

# Without a flush a crash loses what was gathered in memory; the jobs' own
# costs are safe.
crash
ledger mail
  populate: 1 done, 0 failed, 0 preempted, 4 s, 10 read, 3 said, 20 bytes; 0 uses earned 0 s
  decode: 1 done, 0 failed, 0 preempted, 2 s, 0 read, 0 said, 0 bytes; 0 uses earned 0 s
used mail 1s entry
flush
crash
ledger mail
  populate: 1 done, 0 failed, 0 preempted, 4 s, 10 read, 3 said, 20 bytes; 1 uses earned 8 s
  decode: 1 done, 0 failed, 0 preempted, 2 s, 0 read, 0 said, 0 bytes; 0 uses earned 0 s

# What the user's own question made anew earns nobody anything.
own mail entry
used mail 1s entry
flush
crash
used mail 1s entry
ledger mail
  populate: 1 done, 0 failed, 0 preempted, 4 s, 10 read, 3 said, 20 bytes; 1 uses earned 8 s
  decode: 1 done, 0 failed, 0 preempted, 2 s, 0 read, 0 said, 0 bytes; 0 uses earned 0 s

# Who makes it last gets the merit.
plan r1 makes chunk saving 7s
due mail restore r1
step
  done: mail restore r1
loaded mail 1s chunk
ledger mail
  restore: 1 done, 0 failed, 0 preempted, 1 s, 0 read, 0 said, 0 bytes; 1 uses earned 7 s
  populate: 1 done, 0 failed, 0 preempted, 4 s, 10 read, 3 said, 20 bytes; 1 uses earned 8 s
  decode: 1 done, 0 failed, 0 preempted, 2 s, 0 read, 0 said, 0 bytes; 0 uses earned 0 s

# What was made anew since, earns again.
own mail chunk
due mail restore r1
step
  done: mail restore r1
crash
loaded mail 1s chunk
ledger mail
  restore: 2 done, 0 failed, 0 preempted, 2 s, 0 read, 0 said, 0 bytes; 2 uses earned 14 s
  populate: 1 done, 0 failed, 0 preempted, 4 s, 10 read, 3 said, 20 bytes; 1 uses earned 8 s
  decode: 1 done, 0 failed, 0 preempted, 2 s, 0 read, 0 said, 0 bytes; 0 uses earned 0 s

# Credits of what is gone go.
prune mail chunk
  0
prune mail
  1
loaded mail 1s chunk
crash
loaded mail 1s chunk
ledger mail
  restore: 2 done, 0 failed, 0 preempted, 2 s, 0 read, 0 said, 0 bytes; 2 uses earned 14 s
  populate: 1 done, 0 failed, 0 preempted, 4 s, 10 read, 3 said, 20 bytes; 1 uses earned 8 s
  decode: 1 done, 0 failed, 0 preempted, 2 s, 0 read, 0 said, 0 bytes; 0 uses earned 0 s

# Days are those of the calendar.
wait 24h
plan a1 takes 1s
due notes answer a1
step
  done: notes answer a1
ledger all 12h
  answer: 1 done, 0 failed, 0 preempted, 1 s, 0 read, 0 said, 0 bytes; 0 uses earned 0 s
ledger all
  answer: 1 done, 0 failed, 0 preempted, 1 s, 0 read, 0 said, 0 bytes; 0 uses earned 0 s
  restore: 2 done, 0 failed, 0 preempted, 2 s, 0 read, 0 said, 0 bytes; 2 uses earned 14 s
  populate: 1 done, 0 failed, 0 preempted, 4 s, 10 read, 3 said, 20 bytes; 1 uses earned 8 s
  decode: 1 done, 0 failed, 0 preempted, 2 s, 0 read, 0 said, 0 bytes; 0 uses earned 0 s
restart
ledger all 12h
  answer: 1 done, 0 failed, 0 preempted, 1 s, 0 read, 0 said, 0 bytes; 0 uses earned 0 s
