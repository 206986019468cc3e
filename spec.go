package percached

import (
	"bytes"
	_ "embed"
)

//go:embed openapi.yaml
var openapi []byte

// OpenAPI is the description of the HTTP interface, openapi.yaml.
func OpenAPI() []byte { return bytes.Clone(openapi) }
