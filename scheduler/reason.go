package scheduler

import "time"

// Codes of the reasons for not working now.
const (
	ReasonForeground  = "foreground"     // a request of the user runs, or documents are taken in
	ReasonRecent      = "recent_request" // one ended a moment ago
	ReasonWindow      = "window"         // outside the windows
	ReasonBudget      = "budget"         // what this window may cost is spent
	ReasonBattery     = "battery"        // the battery is low and not charging
	ReasonHot         = "hot"            // the device is too warm
	ReasonDeviceStale = "device_stale"   // what is known of the device is too old
	ReasonPaused      = "paused"         // somebody paused idle work
	ReasonNothing     = "nothing_due"    // there is no job
	ReasonNotYet      = "not_yet"        // jobs wait for a quiet period or a back-off
	ReasonNoPay       = "no_pay"         // prediction stopped, as it costs more than it earns
	ReasonBound       = "bound"          // as much is done as somebody wanted done
)

// Reason says why there is no idle work now.
type Reason struct {
	Code string `json:"code"` // one of the codes above
	Text string `json:"text"` // for people
	// Until is when it ends by itself; zero where nobody can know.
	Until time.Time `json:"until,omitzero"`
}
