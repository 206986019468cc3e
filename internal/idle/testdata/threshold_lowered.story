# The threshold falls from 0.90 back to 0.85 after the fifth question: entries that
# were prefilled only are decoded, from their stored tensors. From then on they are
# served.
document heron: The budget of Heron reaches 46 thousand euros.
document kite: The kite festival takes place in Leeds on Sunday.
document boiler: The boiler inspection costs 120 pounds at Smith.
threshold 0.90
predicts How large is the budget of Heron?; Where is the kite festival?
idle
  warm heron (mail from Ana Ruiz, Mon 6 January 2025): done, 58 tokens read, 0 written
  warm boiler (mail from Ana Ruiz, Mon 6 January 2025): done, 28 tokens read, 0 written
  warm kite (mail from Ana Ruiz, Mon 6 January 2025): done, 29 tokens read, 0 written
  abstract kite (mail from Ana Ruiz, Mon 6 January 2025): done, 58 tokens read, 12 written
  abstract heron (mail from Ana Ruiz, Mon 6 January 2025): done, 57 tokens read, 11 written
  abstract boiler (mail from Ana Ruiz, Mon 6 January 2025): done, 57 tokens read, 11 written
  predict behind 0 summaries: done, 197 tokens read, 19 written
  populate Where is the kite festival?: done, 56 tokens read, 0 written
  populate How large is the budget of Heron?: done, 57 tokens read, 0 written
  without: populate Where is the kite festival?: done, 72 tokens read, 8 written
  without: populate How large is the budget of Heron?: done, 75 tokens read, 8 written
ask What is the budget of Heron?
  tensor_hit in 574ms
ask Where does the kite festival take place?
  tensor_hit in 584ms
predicts What does the boiler inspection cost?; Which firm does the boiler inspection?
idle
  history 2: done, 130 tokens read, 19 written
  populate What does the boiler inspection cost?: done, 57 tokens read, 0 written
  populate Which firm does the boiler inspection?: done
  without: populate What does the boiler inspection cost?: done, 74 tokens read, 8 written
  without: populate Which firm does the boiler inspection?: done, 17 tokens read, 8 written
ask Which city has the kite festival?
  tensor_hit in 574ms
ask Who inspects the boiler?
  tensor_hit in 554ms
ask Where is the kite festival?
  tensor_hit in 564ms
  without: answer_hit in 0s
predicts On which day is the kite festival?; Is the budget of Heron in euros?
idle
  history 5: done, 148 tokens read, 21 written
  populate On which day is the kite festival?: done
  populate Is the budget of Heron in euros?: done, 57 tokens read, 0 written
  without: populate On which day is the kite festival?: done, 18 tokens read, 8 written
  without: populate Is the budget of Heron in euros?: done, 75 tokens read, 8 written
bank
  How large is the budget of Heron?: prefilled, predicted
  Is the budget of Heron in euros?: prefilled, predicted
  On which day is the kite festival?: prefilled, predicted
  What does the boiler inspection cost?: prefilled, predicted
  What is the budget of Heron?: answered, asked
  Where does the kite festival take place?: answered, asked
  Where is the kite festival?: answered, asked
  Which city has the kite festival?: answered, asked
  Which firm does the boiler inspection?: prefilled, predicted
  Who inspects the boiler?: answered, asked
  without: How large is the budget of Heron?: answered, predicted
  without: Is the budget of Heron in euros?: answered, predicted
  without: On which day is the kite festival?: answered, predicted
  without: What does the boiler inspection cost?: answered, predicted
  without: Where is the kite festival?: answered, predicted
  without: Which firm does the boiler inspection?: answered, predicted
threshold 0.85
idle
  decode Is the budget of Heron in euros?: done, 18 tokens read, 8 written
  decode On which day is the kite festival?: done, 18 tokens read, 8 written
  decode What does the boiler inspection cost?: done, 17 tokens read, 8 written
  decode Which firm does the boiler inspection?: done, 17 tokens read, 8 written
  decode How large is the budget of Heron?: done, 18 tokens read, 8 written
  without: nothing to do
bank
  How large is the budget of Heron?: answered, predicted
  Is the budget of Heron in euros?: answered, predicted
  On which day is the kite festival?: answered, predicted
  What does the boiler inspection cost?: answered, predicted
  What is the budget of Heron?: answered, asked
  Where does the kite festival take place?: answered, asked
  Where is the kite festival?: answered, asked
  Which city has the kite festival?: answered, asked
  Which firm does the boiler inspection?: answered, predicted
  Who inspects the boiler?: answered, asked
  without: Where is the kite festival?: answered, predicted
ask Which firm does the boiler inspection?
  answer_hit in 0s
ask How large is the budget of Heron?
  answer_hit in 0s
compute
  17.5 s of idle compute
  without: 18.0 s of idle compute
