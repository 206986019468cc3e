package likeness_test

import (
	"testing"

	"github.com/percached/percached/qabank/likeness"
)

// Answers that differ in one fact differ, however many words they share; a fact written in
// another way is the same.
func TestSameAnswerFacts(t *testing.T) {
	sameAnswers(t, []answers{
		// numbers in another form
		{"How much is the rent?", "The rent is $1,185.", "1185 dollars a month", true},
		{"How much is it?", "$40.00", "$40", true},
		{"How many came?", "Three people came.", "3 people", true},
		{"How many came?", "Three people came.", "Four people came.", false},
		{"How many boxes came to the harbour?", "Twelve boxes came to the harbour on Monday.", "Eleven boxes came to the harbour on Monday.", false},
		{"When does it start?", "It starts at 10:00.", "10 am", true},
		{"When does it start?", "It starts at 10 am.", "It starts at 10 pm.", false},
		{"When does it start?", "At 10am in the hall.", "At 10pm in the hall.", false},
		{"When is the fair?", "On the 5th of May", "5 May", true},
		{"When is the fair?", "On 05 May", "5 May", true},
		{"When is the fair?", "On 15 Sept.", "On 15 September", true},
		{"When is the fair?", "On 15 March.", "On 15 May.", false},
		// what a number counts
		{"How long is the trip?", "It takes 5 hours from the harbour.", "It takes 5 days from the harbour.", false},
		{"What is ordered?", "12 boxes of tiles", "12 tiles", true},
		{"How far is it?", "3 km", "3 km from the station", true},
		{"How much is it?", "20 percent of the price", "20 euros of the price", false},
		// names
		{"Who came on Monday?", "Ana came on Monday.", "Bo came on Monday.", false},
		{"Who came on Monday?", "Ana came on Monday.", "It was Ana.", true},
		{"Who signed the lease?", "Ana Petrov from Contoso signed the lease.", "Bo Petrov from Contoso signed the lease.", false},
		{"Who signed the lease?", "It was signed by Ana Petrov from Contoso.", "Ana Petrov", true},
		{"Where is the meeting?", "It is in the small room at Larkmead House.", "It is in the small room at Quenby House.", false},
		{"Where is the meeting?", "In the small room at Larkmead House.", "Larkmead House", true},
		{"Who sent the plan to whom?", "Ana sent the plan to Bo.", "Bo sent the plan to Ana.", false},
		{"Who came?", "Ana and Bo", "Bo and Ana", true},
		{"Which way does it go?", "From Port Ellery to Vessay.", "From Vessay to Port Ellery.", false},
		{"Which class goes?", "Class 4a", "Class 4b", false},
		// yes and no
		{"Is it open on Monday?", "Yes, it is open on Monday.", "No, it is open on Tuesday.", false},
		{"Kommt sie am Montag?", "Ja, sie kommt am Montag.", "Nein, sie kommt am Montag an.", false},
		{"Vient-elle lundi ?", "Oui, elle vient lundi.", "Non, elle vient lundi prochain.", false},
		{"¿Viene el lunes?", "Sí, viene el lunes.", "No, viene el lunes próximo.", false},
		{"Is it open?", "Yes, it is open.", "It is open.", true},
		// opposites
		{"When must it be paid?", "It must be paid before 5 May.", "It must be paid after 5 May.", false},
		{"What happened to the request?", "The request was approved by Ana on Monday.", "The request was rejected by Ana on Monday.", false},
		{"What happened to the price?", "The price for tiles was increased by 5 percent.", "The price for tiles was decreased by 5 percent.", false},
		{"What did the board do?", "The board accepted the offer.", "The board declined the offer.", false},
		// refusals
		{"When is the fair?", "The documents do not say.", "I don't know.", true},
		{"When is the fair?", "There is no information about the fair.", "The documents do not mention it.", true},
		{"When is the fair?", "I don't know.", "On 5 May.", false},
		{"When is the fair?", "The documents do not say.", "There is no fair on 5 May.", false},
		{"Wann ist das Fest?", "Das weiß ich nicht.", "Die Dokumente enthalten keine Angabe.", true},
		{"Quand est la fête ?", "Je ne sais pas.", "Les documents ne le disent pas.", true},
		{"¿Cuándo es la fiesta?", "No lo sé.", "Los documentos no lo dicen.", true},
		{"聚会是什么时候?", "我不知道。", "文件中没有提到。", true},
		{"聚会是什么时候?", "我不知道。", "五月五日", false},
		// German
		{"Wann ist das Fest?", "Am 5. Mai.", "Das Fest findet am 5. Mai statt.", true},
		{"Wie viele kommen?", "Es kommen drei Gäste.", "3 Gäste", true},
		{"Wie viele kommen?", "Es kommen drei Gäste.", "Es kommen vier Gäste.", false},
		{"Wo ist der Schlüssel?", "Der Schlüssel hängt neben der Tür.", "Neben der Tür", true},
		{"Wo ist der Schlüssel?", "Der Schlüssel hängt neben der Tür.", "Unter der Matte", false},
		{"Wie hoch ist die Miete?", "Die Miete beträgt 1.185 Euro.", "1185 €", true},
		// French
		{"Combien ?", "Cela coûte 40 euros.", "40 €", true},
		{"Combien de personnes ?", "Trois personnes viennent.", "Quatre personnes viennent.", false},
		{"Quand ?", "Le 5 mai à midi.", "Le 5 mai", true},
		{"Quand ?", "Le 5 mai.", "Le 5 juin.", false},
		// Spanish
		{"¿Cuántos vienen?", "Vienen cinco personas.", "5 personas", true},
		{"¿Cuántos vienen?", "Vienen cinco personas.", "Vienen seis personas.", false},
		{"¿Dónde está la llave?", "La llave está debajo del felpudo.", "Debajo del felpudo", true},
		{"¿Quién vino el lunes?", "Ana vino el lunes.", "Luis vino el lunes.", false},
		// Chinese
		{"会议在哪里?", "会议在三楼会议室", "会议在四楼会议室", false},
		{"会议是哪天?", "会议在5月6日举行", "5月6日", true},
		{"会议是哪天?", "会议在5月6日举行", "会议在5月7日举行", false},
		{"会议在哪里?", "三楼会议室", "3楼会议室", true},
		{"谁付款?", "由公司付款", "不由公司付款", false},
	})
}

// answers are two answers to a question.
type answers struct {
	question, a, b string
	same           bool
}

// sameAnswers compares answers both ways.
func sameAnswers(t *testing.T, all []answers) {
	t.Helper()
	for _, tt := range all {
		if got := likeness.SameAnswer(tt.a, tt.b, tt.question); got != tt.same {
			t.Errorf("%s %q and %q: same %t", tt.question, tt.a, tt.b, got)
		}
		if got := likeness.SameAnswer(tt.b, tt.a, tt.question); got != tt.same {
			t.Errorf("%s %q and %q: same %t", tt.question, tt.b, tt.a, got)
		}
	}
}
