package daemon

import (
	"errors"

	"github.com/percached/percached/internal/node"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/config"
)

// CheckConfig reports what the interface and the layers find wrong with a configuration.
func CheckConfig(c config.Config) error {
	names := api.Default() // only the names can be wrong
	names.Authorize, names.Ready, names.Events = func(string) (g api.Grant, ok bool) { return }, func() (r api.Ready) { return }, &api.EventBus{}
	var errs []error
	for _, of := range []struct {
		key            string
		hosts, origins []string
	}{{"hosts", c.Serving.Hosts, nil}, {"origins", nil, c.Serving.Origins}} {
		names.Hosts, names.Origins = of.hosts, of.origins
		if err := names.Validate(); err != nil {
			errs = append(errs, &config.KeyError{Key: of.key, Err: errors.New(cmdline.Sentence(err))})
		}
	}
	return errors.Join(append(errs, node.CheckConfig(c))...)
}
