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
  paused: idle work is paused
  recent_request until 12:00:30: less than 30s ago a request was answered
  window until 22:00:00: this is not a time for idle work
  battery: the battery is at 20 %, which is below 40 %, and it is not known to be charging
  hot: the device is at 81 °C, which is above 70 °C
  wake -
status
  paused
  paused: idle work is paused
  recent_request until 12:00:30: less than 30s ago a request was answered
  window until 22:00:00: this is not a time for idle work
  battery: the battery is at 20 %, which is below 40 %, and it is not known to be charging
  hot: the device is at 81 °C, which is above 70 °C
  mail: pace full
resume
step
  recent_request until 12:00:30: less than 30s ago a request was answered
  window until 22:00:00: this is not a time for idle work
  battery: the battery is at 20 %, which is below 40 %, and it is not known to be charging
  hot: the device is at 81 °C, which is above 70 °C
  wake 22:00:00
wait 30s
step
  window until 22:00:00: this is not a time for idle work
  battery: the battery is at 20 %, which is below 40 %, and it is not known to be charging
  hot: the device is at 81 °C, which is above 70 °C
  wake 22:00:00
wait 10h
step
  device_stale: for more than 10m0s the device has not told whether it is charging, its battery, its temperature
  wake 22:01:00
post battery 80 20
plan a1 takes 10s asks 5 writes 100
step
  done: mail answer a1
step
  budget until day 1, 22:00:00: this window's budget is spent: 10s of compute, 5 questions, 100 bytes written
  wake day 1, 22:00:00
status
  waiting
  budget until day 1, 22:00:00: this window's budget is spent: 10s of compute, 5 questions, 100 bytes written
  window 22:00:00 to day 1, 00:00:00: used 10s, 5 questions, 100 bytes; left 0s, 0, 0
  3 answer
  mail: pace full
wait 2h
step
  window until day 1, 22:00:00: this is not a time for idle work
  device_stale: for more than 10m0s the device has not told whether it is charging, its battery, its temperature
  wake day 1, 22:00:00
wait 22h
post charging 5 20
step
  done: mail answer a2

# What is known of the device grows stale.
wait 11m
step
  device_stale: for more than 10m0s the device has not told whether it is charging, its battery, its temperature
  wake day 1, 22:12:11

# A pause survives a restart.
pause
crash
status
  paused
  paused: idle work is paused
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
