# A job named twice is one job; one that waits takes the new time; one that is
# not due any more goes.
due mail abstract chunk1 +2m
step
  not_yet until 12:02:00
  wake 12:02:00
queue
  mail abstract chunk1, not before 12:02:00
wait 1m
due mail abstract chunk1 +2m
due mail abstract chunk2 +1m
step
  not_yet until 12:02:00
  wake 12:02:00
queue
  mail abstract chunk1, not before 12:03:00
  mail abstract chunk2, not before 12:02:00
wait 1m
step
  done: mail abstract chunk2
queue
  mail abstract chunk1, not before 12:03:00
undue mail abstract chunk1
step
  nothing_due
  wake -
queue
status
  idle
  nothing_due
  window 00:00:00 to day 1, 00:00:00: used 1s, 0 questions, 0 bytes; left 59m59s, 500, 1073741824
  mail: pace full

# What is in a back-off or parked keeps its time, and is not lost, whatever the
# worker says of it.
plan e1 ends failed
due mail refresh e1
step
  failed: mail refresh e1, failed 1 times (unavailable: idle.Do: bank.Put), not before 12:03:02
wait 10s
due mail refresh e1 +9s
step
  not_yet until 12:03:02
  wake 12:03:02
queue
  mail refresh e1, failed 1 times (unavailable: idle.Do: bank.Put), not before 12:03:02
set retry 1m 1m 1
step
  not_yet until 12:03:02
  wake 12:03:02
wait 1m
step
  parked: mail refresh e1, failed 2 times (unavailable: idle.Do: bank.Put), parked
undue mail refresh e1
step
  nothing_due
  wake -
queue
  mail refresh e1, failed 2 times (unavailable: idle.Do: bank.Put), parked
due mail refresh e1
step
  nothing_due
  wake -
queue
  mail refresh e1, failed 2 times (unavailable: idle.Do: bank.Put), parked

# Nobody turns in circles where the worker says due and there is nothing to do.
plan w1 ends nothing
due mail warm w1 w2
step
  nothing: mail warm w1
step
  done: mail warm w2
step
  nothing: mail warm w1
wait 1m
step
  nothing: mail warm w1
step
  not_yet until 12:05:17
  wake 12:05:17
due mail warm w2
step 3
  nothing: mail warm w1
  done: mail warm w2
  nothing: mail warm w1
undue mail warm w1

# What is gone is no job any more.
plan g1 ends gone
due mail restore g1
step
  nothing: mail restore g1
step
  not_yet until 12:05:21
  wake 12:05:21
undue mail restore g1

# A space that cannot be looked through is tried again, and holds nobody up.
plan mail ends failed
due mail answer a1
due notes answer b1
step
  done: notes answer b1
step
  not_yet until 12:05:21
  not_yet until 12:05:21
  wake 12:05:21
wait 30s
step
  not_yet until 12:05:21
  not_yet until 12:05:21
  wake 12:05:21
wait 1m
step
  nothing: mail restore g1
status
  idle
  not_yet until 12:06:52
  window 00:00:00 to day 1, 00:00:00: used 13s, 0 questions, 0 bytes; left 59m47s, 500, 1073741824
  parked: mail refresh e1, failed 2 times (unavailable: idle.Do: bank.Put), parked
  mail: pace full
  notes: pace full
unplan mail
wait 2m
step
  done: mail answer a1
step
  nothing_due
  wake -

# A space without anything due is forgotten at the next look at all.
due old answer o1 o2
step
  done: old answer o1
undue old answer o2
crash
queue
  old answer o2
  mail refresh e1, failed 2 times (unavailable: idle.Do: bank.Put), parked
step
  nothing_due
  wake -
queue
  mail refresh e1, failed 2 times (unavailable: idle.Do: bank.Put), parked
