package wording

import "testing"

// Whose a thing is may stand before it or behind it, with a title, an initial or a purpose.
func TestOwners(t *testing.T) {
	for _, tt := range []struct{ question, same, other string }{
		{"What is Anna's budget?", "What is the budget of Anna?", "What is Anna of the budget?"},
		{"What is Anna's budget for travel?", "What is the travel budget of Anna?", "What is the travel of Anna's budget?"},
		{"What is the company's budget for travel?", "What is the company's travel budget?", "What is the budget for the company's sister?"},
		{"What is Anna's boss's budget for travel?", "What is the travel budget of Anna's boss?", "What is the boss's budget for Anna's travel?"},
		{"What is Dr. Berg's number?", "What is the number of Dr. Berg?", "What is Berg? The number of the doctor?"},
		{"When does Mrs. Ito's lease end?", "When does the lease of Mrs. Ito end?", "When does the lease of Mr. Ota end?"},
		{"What is Phillip K. Allen's budget?", "What is the budget of Phillip K. Allen?", "What is the budget of Phillip K. Ellen?"},
		{"Which of the invoices are unpaid?", "Which invoices are unpaid?", "Which of the invoices are not unpaid?"},
		{"How many of the rooms are free?", "How many rooms are free?", "How many of the rooms were free?"},
		{"Which of Anna's invoices are unpaid?", "Which invoices of Anna are unpaid?", "Which of Tom's invoices are unpaid?"},
		{"Which of the company's invoices are unpaid?", "Which invoices of the company are unpaid?", "Which company's invoices are unpaid?"},
		{"Which of Anna's invoices did Tom pay?", "Which invoices of Anna did Tom pay?", "Which of Tom's invoices did Anna pay?"},
		{"Which of the two offers is higher?", "Which of the two offers is the higher?", "Which two offers are higher?"},
		{"What is Ana's plan for Bo's trip?", "What's Ana's plan for Bo's trip?", "What is Bo's plan for Ana's trip?"},
	} {
		if d := Compare(tt.question, tt.same); len(d) != 0 {
			t.Errorf("%q and %q differ: %v", tt.question, tt.same, d)
		}
		if d := Compare(tt.question, tt.other); len(d) == 0 {
			t.Errorf("%q and %q do not differ", tt.question, tt.other)
		}
	}
}
