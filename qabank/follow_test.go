package qabank_test

import (
	"testing"

	"github.com/percached/percached/qabank"
)

// "Those", "which of" and "which one" lean on what was said before only if the question itself
// does not say what they are.
func TestFollowUpWithin(t *testing.T) {
	for question, leans := range map[string]bool{
		"Who pays for those who leave early?":                                  false,
		"What happens to those whose lease ends in May?":                       false,
		"How do the prices in Oslo compare with those in Bergen?":              false,
		"How do Airbus aircraft differ from those of Boeing?":                  false,
		"Does the lease name the tenants, and do those tenants pay the water?": false,
		"Which of those is due first, the rent or the tax?":                    false,
		"Which one is better, Heron or Kite?":                                  false,
		"Which one leaves earlier: the train or the bus?":                      false,
		"Which of the invoices are unpaid?":                                    false,

		"Which of those are unpaid?":                    true,
		"Which of those invoices are unpaid?":           true,
		"Which of these is due first?":                  true,
		"Which one is better?":                          true,
		"Which one is due first or last?":               true,
		"Which ones did Anna send?":                     true,
		"What are those of Heron?":                      true,
		"And those of Heron?":                           true,
		"Who sent those?":                               true,
		"Are those invoices unpaid?":                    true,
		"How much are those with a balcony?":            true,
		"When do those tenants pay?":                    true,
		"Which of those is it, or is it another?":       true,
		"Which of them is due first?":                   true,
		"What did Anna say about those in the kitchen?": false,
	} {
		if got := qabank.FollowUp(question); got != leans {
			t.Errorf("%q: %v", question, got)
		}
	}
}
