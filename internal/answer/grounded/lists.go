package grounded

import "strings"

// at returns the part of a list, from 1, that has a word; 0: none has.
func at(list, w string) int {
	before, _, found := strings.Cut(list, " "+w+" ")
	if !found {
		return 0
	}
	return strings.Count(before, ",") + 1
}

const (
	months = " january jan , february feb , march mar , april apr , may , june jun , july jul , august aug ," +
		" september sept sep , october oct , november nov , december dec "
	weekdays = " monday mon , tuesday tue tues , wednesday wed , thursday thu thur thurs , friday fri , saturday sat , sunday sun "

	// times may answer "when", besides dates.
	times = " today yesterday tomorrow tonight now second seconds minute minutes hour hours o'clock day days daily week weeks weekly weekend weekends fortnight" +
		" month months monthly quarter year years yearly annually decade decades century night morning afternoon evening noon midnight" +
		" spring summer autumn fall winter season christmas easter holiday holidays ago after before since until while once soon recently immediately always never every first "
	// amounts may answer "how many", besides numbers.
	amounts = " no none zero both all several many few some half dozen dozens pair couple single once twice hundred hundreds thousand thousands million millions most nobody nothing a an "

	// common words say nothing that a document can confirm.
	common = " a about above after again all almost along already also am an and any anyone anything are aren't around as at away back be became because become been before being below" +
		" between both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each every everyone everything few for from further" +
		" had hadn't has hasn't have haven't having he he'd he'll her here hers herself him himself his how however i i'd i'll i'm i've if in into is isn't it it'd it'll its itself" +
		" just later let's may me might more most must my myself no nor not nothing now of off oh ok okay on once only onto or other others our ours ourselves out over own" +
		" per quite rather really same shall she she'd she'll should shouldn't since so some someone something such than that the their theirs them themselves then there therefore" +
		" these they they'd they'll they're they've this those though through thus to together too toward towards under until up upon us very was wasn't we we'd we'll we're we've" +
		" were weren't what when where whether which while who whom whose why will with within without won't would wouldn't yes yet you you'd you'll you're you've your yours yourself" +
		" answer question text document according based mentioned said says say told tell means st nd rd th am pm one e g etc mr mrs ms dr well like via" +
		" go goes going went gone get gets getting got gotten make makes making made take takes taking took taken give gives giving gave given come comes coming came" +
		" see sees seeing saw seen want wants wanted need needs needed use uses used using know knows knew known think thinks thinking thought feel feels feeling felt" +
		" look looks looking looked find finds found keep kept let lets put thing things people person persons way ways lot lots kind type sort part" +
		" new good great able many much another currently "
)

// count returns the number that a word means; 0: none.
func count(w string) int {
	return at(" one , two , three , four , five , six , seven , eight , nine , ten , eleven , twelve ", w)
}
