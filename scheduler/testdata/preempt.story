# A request interrupts what runs: the job stays, no attempt is counted, what it
# cost and made is booked; work goes on after a while of quiet.
plan p1 takes 5s reads 100 writes 7 makes chunk saving 3s ends interrupted
due mail populate p1
step
  preempted: mail populate p1
queue
  mail populate p1
ledger mail
  populate: 0 done, 0 failed, 1 preempted, 7 s, 100 read, 0 said, 7 bytes; 0 uses earned 0 s
step
  recent_request until 12:00:37
  wake 12:00:37
wait 28s
step
  recent_request until 12:00:37
  wake 12:00:37
loaded mail 1s chunk
plan p1 takes 2s
wait 1s
step
  recent_request until 12:00:37
  wake 12:00:37
wait 1s
step
  done: mail populate p1
step
  nothing_due
  wake -
ledger all
  populate: 1 done, 0 failed, 1 preempted, 9 s, 100 read, 0 said, 7 bytes; 1 uses earned 3 s

# While requests run nothing begins, whatever else may be wrong.
due mail populate p2
request
step
  foreground
  wake -
status
  waiting
  foreground
  window 00:00:00 to day 1, 00:00:00: used 9s, 0 questions, 7 bytes; left 59m51s, 500, 1073741817
  mail: pace full
wait 1h
step
  foreground
  wake -
answered
step
  recent_request until 13:01:09
  wake 13:01:09
status
  waiting
  recent_request until 13:01:09
  window 00:00:00 to day 1, 00:00:00: used 9s, 0 questions, 7 bytes; left 59m51s, 500, 1073741817
  mail: pace full
wait 30s
step
  done: mail populate p2
