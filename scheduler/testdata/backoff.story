# Failures back off, doubling, and park a job in the end, with the reason. The
# reason holds no text of documents. All of it survives a crash.
set retry 1m 3m 4
plan a1 ends failed takes 0s
due mail answer a1
due mail decode d1
step
  failed: mail answer a1, failed 1 times (unavailable: idle.Do: bank.Put), not before 12:01:00
step
  done: mail decode d1
step
  not_yet until 12:01:00
  wake 12:01:00
crash
step
  not_yet until 12:01:00
  wake 12:01:00
wait 1m
step
  failed: mail answer a1, failed 2 times (unavailable: idle.Do: bank.Put), not before 12:03:01
wait 1m
step
  not_yet until 12:03:01
  wake 12:03:01
wait 1m
step
  failed: mail answer a1, failed 3 times (unavailable: idle.Do: bank.Put), not before 12:06:01
crash
wait 2m
step
  not_yet until 12:06:01
  wake 12:06:01
wait 1m
step
  parked: mail answer a1, failed 4 times (unavailable: idle.Do: bank.Put), parked
queue
  mail answer a1, failed 4 times (unavailable: idle.Do: bank.Put), parked
step
  nothing_due
  wake -
crash
step
  nothing_due
  wake -
status
  idle
  nothing_due
  window 00:00:00 to day 1, 00:00:00: used 1s, 0 questions, 0 bytes; left 59m59s, 500, 1073741824
  parked: mail answer a1, failed 4 times (unavailable: idle.Do: bank.Put), parked
  mail: pace full

# A parked job waits for somebody, who gives it all its attempts again.
retry mail answer a1
crash
queue
  mail answer a1
step
  failed: mail answer a1, failed 1 times (unavailable: idle.Do: bank.Put), not before 12:07:01
retry mail answer a1
unplan a1
step
  done: mail answer a1
step
  nothing_due
  wake -
retry mail answer a1
  scheduler.Retry: job "111839115e25e0d7" does not exist
