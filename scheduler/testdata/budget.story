# Without windows each day has a budget. What was spent of it survives a crash,
# and the next day begins anew.
set compute 10s
plan a1 takes 6s asks 2 writes 5
plan a2 takes 6s ends failed asks 1
due mail answer a1 a2 a3
step
  done: mail answer a1
crash
status
  waiting
  window 00:00:00 to day 1, 00:00:00: used 6s, 2 questions, 5 bytes; left 4s, 498, 1073741819
  2 answer
  mail: pace full
step
  failed: mail answer a2, failed 1 times (unavailable: idle.Do: bank.Put), not before 12:01:12
crash
step
  budget until day 1, 00:00:00
  wake day 1, 00:00:00
status
  waiting
  budget until day 1, 00:00:00
  window 00:00:00 to day 1, 00:00:00: used 12s, 3 questions, 5 bytes; left 0s, 497, 1073741819
  2 answer
  mail: pace full
wait 12h
step
  failed: mail answer a2, failed 2 times (unavailable: idle.Do: bank.Put), not before day 1, 00:02:18
status
  waiting
  window day 1, 00:00:00 to day 2, 00:00:00: used 6s, 1 questions, 0 bytes; left 4s, 499, 1073741824
  2 answer
  mail: pace full

# A window that is open over midnight has one budget.
undue mail answer a2
set window 22 8h
plan a4 takes 4s
plan a5 takes 7s
due mail answer a3 a4 a5 a6
wait 21h
step
  window until day 1, 22:00:00
  wake day 1, 22:00:00
wait 1h
step 2
  done: mail answer a3
  done: mail answer a4
wait 2h
crash
step 2
  done: mail answer a5
  budget until day 2, 22:00:00
  wake day 2, 22:00:00
status
  waiting
  budget until day 2, 22:00:00
  window day 1, 22:00:00 to day 2, 06:00:00: used 12s, 0 questions, 0 bytes; left 0s, 500, 1073741824
  1 answer
  mail: pace full
wait 3h
step
  budget until day 2, 22:00:00
  wake day 2, 22:00:00

# A budget of zero is one.
set questions 0
wait 19h
step
  budget until day 3, 22:00:00
  wake day 3, 22:00:00
