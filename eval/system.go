package eval

import "github.com/percached/percached/api/client"

// System is a way of answering questions: percached with some settings.
type System struct {
	Name  string `json:"name"`
	About string `json:"about"`
	// Of is the system that this one is a variant of, in which Key has Value; all
	// three are empty for a system in its own right.
	Of       string          `json:"of,omitempty"`
	Key      string          `json:"key,omitempty"` // threshold, stride or limit
	Value    float64         `json:"value,omitempty"`
	Settings client.Settings `json:"settings"` // of its spaces
	Idle     Idle            `json:"idle"`
	// Forgets says that the answers to what was asked are not kept.
	Forgets bool `json:"forgets,omitempty"`
	// Poisoned says that its bank is filled with wrong answers before the questions: a
	// control, which must show in quality.
	Poisoned bool `json:"poisoned,omitempty"`
	// Reference names the system that answers the same without any cache.
	Reference string `json:"reference"`
	// Then changes the settings in the middle of the questions.
	Then *client.Settings `json:"then,omitempty"`
}

// Idle is what work a system does while nobody asks.
type Idle string

// What idle work there is.
const (
	IdleNone    Idle = "none"
	IdlePredict Idle = "predict" // the paper's: prediction, population, conversion
	IdleAll     Idle = "all"     // whatever percached finds to do
)
