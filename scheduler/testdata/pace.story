# Prediction is tried, then slowed down, then stopped, while it does not pay.
# Other work goes on. When its costs are beyond the horizon it begins again.
set pay 72h 10s 10
plan q1 takes 6s again yes
plan c1 takes 6s
due mail abstract c1
due mail predict q1
pace mail
  full: spent 0 s, earned 0.0 s
step
  done: mail abstract c1
step
  done: mail predict q1
pace mail
  slow: spent 12 s, earned 0.0 s
step
  no_pay until day 1, 00:00:00
  wake day 1, 00:00:00
due mail answer a1
due mail populate p1
due mail history h1 h2
step
  done: mail answer a1
step
  done: mail history h1
step
  done: mail populate p1
plan q1 ends failed takes 1s
wait 24h
step
  failed: mail predict q1, failed 1 times (unavailable: idle.Do: bank.Put), not before day 1, 12:01:16
plan q1 takes 6s again yes
step
  done: mail history h2
wait 1m
step
  done: mail predict q1, failed 1 times (unavailable: idle.Do: bank.Put)
step
  no_pay until day 2, 00:00:00
  wake day 2, 00:00:00
pace mail
  slow: spent 22 s, earned 0.0 s
wait 24h
step
  done: mail predict q1
step
  no_pay until day 3, 00:00:00
  wake day 3, 00:00:00
wait 24h
step
  no_pay until day 6, 00:00:00
  wake day 6, 00:00:00
pace mail
  stopped until day 6, 00:00:00: spent 28 s, earned 0.0 s
status
  idle
  no_pay until day 6, 00:00:00
  window day 3, 00:00:00 to day 4, 00:00:00: used 0s, 0 questions, 0 bytes; left 1h0m0s, 500, 1073741824
  1 predict
  mail: pace stopped
due mail abstract c2
due mail answer a2
step
  done: mail answer a2
step
  no_pay until day 6, 00:00:00
  wake day 6, 00:00:00
wait 24h
step
  no_pay until day 6, 00:00:00
  wake day 6, 00:00:00
wait 24h
step
  no_pay until day 6, 00:00:00
  wake day 6, 00:00:00
wait 24h
step
  done: mail abstract c2
pace mail
  full: spent 1 s, earned 0.0 s

# It is at full pace as long as it pays.
plan q1 takes 60s makes entry saving 9s again yes
due notes predict q1
undue mail predict q1
undue mail abstract c2
step
  done: notes predict q1
pace notes
  slow: spent 60 s, earned 0.0 s
used notes 2s entry
pace notes
  full: spent 60 s, earned 7.0 s
step
  done: notes predict q1
