package gguf

import "strings"

// words that the random vocabularies know: the commonest ones and those of the
// documents that percached answers about, so that prompts are as short in
// tokens as with a real vocabulary.
func words() []string {
	return strings.Fields(`
the of and to in is you that it he was for on are as with his they be at one have this from or had by but
some what there we can out other were all your when up use word how said an each she which do their time if
will way about many then them would write like so these her long make thing see him two has look more day
could go come did my sound no most number who over know water than call first people may down side been now
find any new work part take get place made live where after back little only round man year came show every
good me give our under name very through just form much great think say help low line before turn cause same
mean differ move right boy old too does tell sentence set three want air well also play small end put home
read hand port large spell add even land here must big high such follow act why ask men change went light
kind off need house picture try us again animal point mother world near build self earth father
meeting email mail note notes project budget report question answer document documents summary please thanks
hello regards subject team week month monday tuesday wednesday thursday friday schedule review contract gas
power price market office call attached sent company business management plan customer deadline invoice
decided agreed discuss action item owner tomorrow today yesterday morning afternoon based context following
using information system user assistant model date title source according because between during without
person agreement payment account service product energy trading data file server update issue problem
`)
}
