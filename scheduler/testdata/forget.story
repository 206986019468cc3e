# Forgetting empties the queue, and what is due is found anew; the ledger stays.
plan a1 ends failed
due mail answer a1 a2
due notes answer b1
step
  failed: mail answer a1, failed 1 times (unavailable: idle.Do: bank.Put), not before 12:01:01
step
  done: notes answer b1
forget mail
queue
ledger mail
  answer: 0 done, 1 failed, 0 preempted, 1 s, 0 read, 0 said, 0 bytes; 0 uses earned 0 s
crash
step
  failed: mail answer a1, failed 1 times (unavailable: idle.Do: bank.Put), not before 12:01:03
queue
  mail answer a1, failed 1 times (unavailable: idle.Do: bank.Put), not before 12:01:03
  mail answer a2

# A space that is dropped takes everything along, what is only in memory too.
plan a2 makes entry saving 2s
step
  done: mail answer a2
used mail 1s entry
drop mail
flush
queue
ledger mail
pace mail
  full: spent 0 s, earned 0.0 s
crash
ledger mail
used mail 1s entry
step
  failed: mail answer a1, failed 1 times (unavailable: idle.Do: bank.Put), not before 12:01:05
