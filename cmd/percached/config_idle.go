package main

// idleKeys say when idle work is done, what there is of it, and what it may cost.
func idleKeys() []key {
	return []key{
		{
			name: "idle-after", live: true, about: "how long nobody must have asked before idle work is done",
			of: func(c *setup) field { return aDuration(&c.idle.Policy.IdleAfter) },
		},
		{
			name: "windows", live: true, about: "when idle work is done: CRON LENGTH; CRON LENGTH, as in 0 1 * * * 4h; empty: always",
			of: func(c *setup) field { return someWindows(&c.idle.Policy.Windows) },
		},
		{
			name: "time-zone", about: "time zone of windows that name none, and of days",
			of: func(c *setup) field { return aZone(&c.idle.Policy.Zone) },
		},
		{
			name: "budget-compute", live: true, about: "the most that may be computed in a window, or in a day where there are no windows",
			of: func(c *setup) field { return aDuration(&c.idle.Policy.Budget.Compute) },
		},
		{
			name: "budget-questions", live: true, about: "questions that may be predicted or answered in a window",
			of: func(c *setup) field { return anInt(&c.idle.Policy.Budget.Questions) },
		},
		{
			name: "budget-bytes", live: true, about: "bytes that may be written in a window",
			of: func(c *setup) field { return aSize(&c.idle.Policy.Budget.Written) },
		},
		{
			name: "min-battery", live: true, about: "the battery must be so full, 0 to 1, where it is not charging",
			of: func(c *setup) field { return aNumber(&c.idle.Policy.Device.MinBattery) },
		},
		{
			name: "max-temperature", live: true, about: "the device may be so warm, in °C",
			of: func(c *setup) field { return aNumber(&c.idle.Policy.Device.MaxTemperature) },
		},
		{
			name: "device-stale-after", live: true, about: "what is known of the device is believed for so long",
			of: func(c *setup) field { return aDuration(&c.idle.Policy.Device.StaleAfter) },
		},
		{
			name: "device-read-every", live: true, about: "how often the system is asked for the device's state",
			of: func(c *setup) field { return aDuration(&c.idle.Policy.Device.ReadEvery) },
		},
		{
			name: "retry-first", live: true, about: "a job that failed is tried again after so long, then after twice as long each time",
			of: func(c *setup) field { return aDuration(&c.idle.Policy.Retry.First) },
		},
		{
			name: "retry-longest", live: true, about: "the longest wait of a job that failed",
			of: func(c *setup) field { return aDuration(&c.idle.Policy.Retry.Longest) },
		},
		{
			name: "retry-attempts", live: true, about: "after so many attempts a job is parked",
			of: func(c *setup) field { return anInt(&c.idle.Policy.Retry.Attempts) },
		},
		{
			name: "cutoff", live: true, flag: true, about: "similarity threshold above which predicted questions are prefilled and not answered; negative: an eighth of the way from the service's threshold to 1",
			of: func(c *setup) field { return aNumber(&c.cutoff) },
		},
		{
			name: "stride", live: true, flag: true, about: "questions that are predicted at a time",
			of: func(c *setup) field { return anInt(&c.idle.Stride) },
		},
		{
			name: "prediction", live: true, about: "what is kept of predicted questions: off, answers (no tensors), or both",
			of: func(c *setup) field { return aText(&c.idle.Prediction) },
		},
		{
			name: "adaptive", live: true, about: "false: predicted questions are answered whatever the threshold",
			of: func(c *setup) field { return aSwitch(&c.idle.Adaptive) },
		},
		{
			name: "conversion", live: true, about: "false: entries without an answer and lost tensors stay as they are",
			of: func(c *setup) field { return aSwitch(&c.idle.Conversion) },
		},
		{
			name: "quiet-documents", live: true, about: "documents must have been quiet for so long before anything is predicted from them",
			of: func(c *setup) field { return aDuration(&c.idle.QuietDocuments) },
		},
		{
			name: "quiet-questions", live: true, about: "questions must have been quiet for so long before anything is predicted from them",
			of: func(c *setup) field { return aDuration(&c.idle.QuietQuestions) },
		},
		{
			name: "floor", about: "likeness of a predicted question to its best chunk below which it is dropped",
			of: func(c *setup) field { return aNumber(&c.idle.Floor) },
		},
		{
			name: "pay-horizon", live: true, about: "how far back costs and earnings of prediction are held against each other",
			of: func(c *setup) field { return aDuration(&c.idle.Policy.Pay.Horizon) },
		},
		{
			name: "pay-trial", live: true, about: "compute that prediction may cost before it must have earned",
			of: func(c *setup) field { return aDuration(&c.idle.Policy.Pay.Trial) },
		},
		{
			name: "pay-worth", live: true, about: "seconds of idle compute that a second of a person's waiting is worth",
			of: func(c *setup) field { return aNumber(&c.idle.Policy.Pay.Worth) },
		},
	}
}
