# All reasons are told together, and work begins when the last has ended.
set window 22 2h
set compute 10s
set questions 5
set written 100
due mail answer a1 a2 a3 a4
post battery 20 81
request
answered
pause
step
  paused
  recent_request until 12:00:30
  window until 22:00:00
  battery
  hot
  wake -
status
  paused
  paused
  recent_request until 12:00:30
  window until 22:00:00
  battery
  hot
  mail: pace full
resume
step
  recent_request until 12:00:30
  window until 22:00:00
  battery
  hot
  wake 22:00:00
wait 30s
step
  window until 22:00:00
  battery
  hot
  wake 22:00:00
wait 10h
step
  device_stale
  wake 22:01:00
post battery 80 20
plan a1 takes 10s asks 5 writes 100
step
  done: mail answer a1
step
  budget until day 1, 22:00:00
  wake day 1, 22:00:00
status
  waiting
  budget until day 1, 22:00:00
  window 22:00:00 to day 1, 00:00:00: used 10s, 5 questions, 100 bytes; left 0s, 0, 0
  3 answer
  mail: pace full
wait 2h
step
  window until day 1, 22:00:00
  device_stale
  wake day 1, 22:00:00
wait 22h
post charging 5 20
step
  done: mail answer a2

# What is known of the device grows stale.
wait 11m
step
  device_stale
  wake day 1, 22:12:11

# A pause survives a restart.
pause
crash
status
  paused
  paused
  window day 1, 22:00:00 to day 2, 00:00:00: used 1s, 0 questions, 0 bytes; left 9s, 5, 100
  2 answer
  mail: pace full
resume
crash
status
  waiting
  window day 1, 22:00:00 to day 2, 00:00:00: used 1s, 0 questions, 0 bytes; left 9s, 5, 100
  2 answer
  mail: pace full
