# The similarity threshold rises from 0.85 to 0.90 after the second question. Above
# the cut-off of 0.88 stored answers are seldom served, so predicted questions are
# prefilled and not decoded from then on: what the decoding would have taken is saved.
document heron: The budget of Heron reaches 46 thousand euros.
document kite: The kite festival takes place in Leeds on Sunday.
document boiler: The boiler inspection costs 120 pounds at Smith.
predicts How large is the budget of Heron?; Where is the kite festival?
idle
  warm heron (mail from Ana Ruiz, Mon 6 January 2025): done, 58 tokens read, 0 written
  warm boiler (mail from Ana Ruiz, Mon 6 January 2025): done, 28 tokens read, 0 written
  warm kite (mail from Ana Ruiz, Mon 6 January 2025): done, 29 tokens read, 0 written
  abstract kite (mail from Ana Ruiz, Mon 6 January 2025): done, 58 tokens read, 12 written
  abstract heron (mail from Ana Ruiz, Mon 6 January 2025): done, 57 tokens read, 11 written
  abstract boiler (mail from Ana Ruiz, Mon 6 January 2025): done, 57 tokens read, 11 written
  predict behind 0 summaries: done, 197 tokens read, 19 written
  populate Where is the kite festival?: done, 72 tokens read, 8 written
  populate How large is the budget of Heron?: done, 75 tokens read, 8 written
ask How large is the budget of Heron?
  answer_hit in 0s
predicts What does the boiler inspection cost?; Which firm does the boiler inspection?
idle
  history 1: done, 123 tokens read, 19 written
  populate What does the boiler inspection cost?: done, 74 tokens read, 8 written
  populate Which firm does the boiler inspection?: done, 17 tokens read, 8 written
ask Where does the kite festival take place?
  tensor_hit in 584ms
compute
  13.7 s of idle compute
threshold 0.90
predicts On which day is the kite festival?; Which city has the kite festival?
idle
  history 2: done, 131 tokens read, 20 written
  populate On which day is the kite festival?: done
  populate Which city has the kite festival?: done
  without: populate On which day is the kite festival?: done, 18 tokens read, 8 written
  without: populate Which city has the kite festival?: done, 17 tokens read, 8 written
ask What does the boiler inspection cost?
  answer_hit in 0s
predicts Is the budget of Heron in euros?; Does Smith inspect the boiler?
idle
  history 3: done, 138 tokens read, 19 written
  populate Does Smith inspect the boiler?: done
  populate Is the budget of Heron in euros?: done, 57 tokens read, 0 written
  without: populate Does Smith inspect the boiler?: done, 16 tokens read, 8 written
  without: populate Is the budget of Heron in euros?: done, 75 tokens read, 8 written
ask Which city has the kite festival?
  tensor_hit in 574ms
  without: answer_hit in 0s
bank
  Does Smith inspect the boiler?: prefilled, predicted
  How large is the budget of Heron?: answered, predicted
  Is the budget of Heron in euros?: prefilled, predicted
  On which day is the kite festival?: prefilled, predicted
  What does the boiler inspection cost?: answered, predicted
  Where does the kite festival take place?: answered, asked
  Where is the kite festival?: answered, predicted
  Which city has the kite festival?: answered, asked
  Which firm does the boiler inspection?: answered, predicted
  without: Does Smith inspect the boiler?: answered, predicted
  without: Is the budget of Heron in euros?: answered, predicted
  without: On which day is the kite festival?: answered, predicted
  without: Which city has the kite festival?: answered, predicted
compute
  18.9 s of idle compute
  without: 21.2 s of idle compute
