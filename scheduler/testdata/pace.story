# Prediction is tried, then slowed down, then stopped, while it does not pay.
# Other work goes on. When its costs are beyond the horizon it begins again.
set pay 72h 10s 10
plan q1 takes 6s again yes
plan c1 takes 6s
due mail abstract c1
due mail predict q1
pace mail
  full: in 3 days prediction cost 0 s of compute and saved 0.0 s of waiting, worth 0 s: it is being tried
step
  done: mail abstract c1
step
  done: mail predict q1
pace mail
  slow: in 3 days prediction cost 12 s of compute and saved 0.0 s of waiting, worth 0 s: it does not pay yet
step
  no_pay until day 1, 00:00:00: space "mail": in 3 days prediction cost 12 s of compute and saved 0.0 s of waiting, worth 0 s: it does not pay yet, so questions are predicted once a window
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
  no_pay until day 2, 00:00:00: space "mail": in 3 days prediction cost 22 s of compute and saved 0.0 s of waiting, worth 0 s: it does not pay yet, so questions are predicted once a window
  wake day 2, 00:00:00
pace mail
  slow: in 3 days prediction cost 22 s of compute and saved 0.0 s of waiting, worth 0 s: it does not pay yet
wait 24h
step
  done: mail predict q1
step
  no_pay until day 3, 00:00:00: space "mail": in 3 days prediction cost 28 s of compute and saved 0.0 s of waiting, worth 0 s: it does not pay yet, so questions are predicted once a window
  wake day 3, 00:00:00
wait 24h
step
  no_pay until day 6, 00:00:00: space "mail": in 3 days prediction cost 28 s of compute and saved 0.0 s of waiting, worth 0 s: it does not pay
  wake day 6, 00:00:00
pace mail
  stopped until day 6, 00:00:00: in 3 days prediction cost 28 s of compute and saved 0.0 s of waiting, worth 0 s: it does not pay
status
  idle
  no_pay until day 6, 00:00:00: space "mail": in 3 days prediction cost 28 s of compute and saved 0.0 s of waiting, worth 0 s: it does not pay
  window day 3, 00:00:00 to day 4, 00:00:00: used 0s, 0 questions, 0 bytes; left 1h0m0s, 500, 1073741824
  1 predict
  mail: pace stopped
due mail abstract c2
due mail answer a2
step
  done: mail answer a2
step
  no_pay until day 6, 00:00:00: space "mail": in 3 days prediction cost 28 s of compute and saved 0.0 s of waiting, worth 0 s: it does not pay
  wake day 6, 00:00:00
wait 24h
step
  no_pay until day 6, 00:00:00: space "mail": in 3 days prediction cost 28 s of compute and saved 0.0 s of waiting, worth 0 s: it does not pay
  wake day 6, 00:00:00
wait 24h
step
  no_pay until day 6, 00:00:00: space "mail": in 3 days prediction cost 28 s of compute and saved 0.0 s of waiting, worth 0 s: it does not pay
  wake day 6, 00:00:00
wait 24h
step
  done: mail abstract c2
pace mail
  full: in 3 days prediction cost 1 s of compute and saved 0.0 s of waiting, worth 0 s: it is being tried

# It is at full pace as long as it pays.
plan q1 takes 60s makes entry saving 9s again yes
due notes predict q1
undue mail predict q1
undue mail abstract c2
step
  done: notes predict q1
pace notes
  slow: in 3 days prediction cost 60 s of compute and saved 0.0 s of waiting, worth 0 s: it does not pay yet
used notes 2s entry
pace notes
  full: in 3 days prediction cost 60 s of compute and saved 7.0 s of waiting, worth 70 s: it pays
step
  done: notes predict q1
