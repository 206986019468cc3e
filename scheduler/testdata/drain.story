# Drain asks neither for quiet nor windows, device, budget, quiet times or
# back-off. It gives way to a request and goes on behind it. What fails is
# tried until it is parked.
set window 22 1h
set compute 0s
set retry 1m 1h 3
post battery 1 99
request
answered
plan a1 ends failed
plan n1 ends nothing
due mail abstract c1 c2 +2m
due mail answer a1 a2
due notes warm n1
due mail warm w1
step
  recent_request until 12:00:30
  window until 22:00:00
  battery
  hot
  wake 22:00:00
drain
  failed: mail answer a1, failed 1 times (unavailable: idle.Do: bank.Put), not before 12:01:01
  done: mail answer a2
  nothing: notes warm n1
  done: mail warm w1
  done: mail abstract c1, not before 12:02:00
  done: mail abstract c2, not before 12:02:00
  drained: 4 done, 1 nothing, 0 preempted, 1 failed, 0 parked, 6s
  not_yet until 12:01:01
queue
  mail answer a1, failed 1 times (unavailable: idle.Do: bank.Put), not before 12:01:01
  notes warm n1, not before 12:01:03
ledger all
  answer: 1 done, 1 failed, 0 preempted, 2 s, 0 read, 0 said, 0 bytes; 0 uses earned 0 s
  warm: 1 done, 0 failed, 0 preempted, 2 s, 0 read, 0 said, 0 bytes; 0 uses earned 0 s
  abstract: 2 done, 0 failed, 0 preempted, 2 s, 0 read, 0 said, 0 bytes; 0 uses earned 0 s

# Each drain tries once what failed before. What was parked stays so.
drain
  failed: mail answer a1, failed 2 times (unavailable: idle.Do: bank.Put), not before 12:02:07
  nothing: notes warm n1
  drained: 0 done, 1 nothing, 0 preempted, 1 failed, 0 parked, 2s
  not_yet until 12:01:08
due mail answer a3
pause
drain
  drained: 0 done, 0 nothing, 0 preempted, 0 failed, 0 parked, 0s
  paused
resume
drain
  parked: mail answer a1, failed 3 times (unavailable: idle.Do: bank.Put), parked
  done: mail answer a3
  nothing: notes warm n1
  drained: 1 done, 1 nothing, 0 preempted, 1 failed, 1 parked, 3s
  not_yet until 12:01:11

# A space that cannot be looked through is an error in the end.
plan notes x y
due mail answer a4
drain
  done: mail answer a4
  nothing: notes warm n1, not before 12:01:11
  drained: 1 done, 1 nothing, 0 preempted, 0 failed, 0 parked, 2s
  not_yet until 12:01:11
  scheduler.Drain: scheduler: scan for reembed: bank.Due: text of a document
