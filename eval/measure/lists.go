package measure

import (
	"slices"
	"strings"
)

var (
	ones      = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
	tens      = strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety")
	firsts    = strings.Fields("zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth")
	tenths    = strings.Fields("twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth")
	weekdays  = strings.Fields("monday tuesday wednesday thursday friday saturday sunday")
	months    = strings.Fields("january february march april may june july august september october november december")
	noons     = strings.Fields("noon midday midnight")
	relatives = strings.Fields("today tomorrow yesterday tonight")
	scales    = map[string]float64{"dozen": 12, "hundred": 100, "thousand": 1e3, "million": 1e6, "billion": 1e9}
	units     = map[string]string{
		"$": "$", "dollar": "$", "dollars": "$", "usd": "$", "€": "€", "euro": "€", "euros": "€", "eur": "€",
		"£": "£", "pound": "£", "pounds": "£", "gbp": "£", "%": "%", "percent": "%", "per": "%",
	}
	// joined are units that stand right behind digits; other letters there make a code.
	joined = strings.Fields("km m cm mm kg g mg lb lbs h hr hrs min mins s sec ms kb mb gb tb kw mw kwh mwh px ft mph kph")

	titles        = strings.Fields("mr mrs ms dr prof sir miss professor doctor")
	abbreviations = strings.Fields("no nos vs approx ca jr sr st inc ltd co corp dept tel ext fig e.g i.e")

	// idle are words behind no and not that leave nothing denied.
	idle      = strings.Fields("only problem doubt worries wonder")
	negations = strings.Fields("no not never none nothing nobody nowhere neither nor without cannot nay nope")

	// function are words that mean little alone.
	function = strings.Fields(`a an the this that these those i me my mine we us our ours you your yours he him his she her hers it its they them
		their theirs who whom whose which what when where why how there here am is are was were be been being do does did done
		doing has have had having will would shall should can could may might must ok okay and or but so if then than as
		because since for of to in on at by with from into onto about over under between through during against within up
		down out off also too very just only both all any some such own same other each every more most less few fewer many much
		please according based per let let's well re while until till around via upon among though although however not`)

	// opposites stand in pairs.
	opposites = strings.Fields(`before after more less more fewer increase decrease rise fall rising falling higher lower high low early late
		earlier later accept decline accept reject approve reject approve deny approved denied agree refuse open closed open close up
		down buy sell bought sold sent received send receive first last win lose won lost start end begin end above below over under
		include exclude inside outside cheaper dearer maximum minimum most least true false pass fail arrive leave paid unpaid possible
		impossible able unable add remove join leave confirmed cancelled accepted declined left right next last this next`)

	// refusals are what an answer says that is none.
	refusals = strings.Split(`i don't know|i do not know|don't say|do not say|does not say|doesn't say|not mentioned|not specified|not stated|not given|`+
		`not provided|no information|no mention|no answer|not enough information|cannot be determined|can't be determined|cannot answer|`+
		`can't answer|unable to answer|unable to determine|unanswerable|not available in|do not contain|does not contain|don't mention|`+
		`do not mention|does not mention|doesn't mention|no relevant|unknown`, "|")
)

func in(list []string, w string) bool { return slices.Contains(list, w) }
