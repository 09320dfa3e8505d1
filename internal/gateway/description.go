package gateway

import _ "embed" // of the description

// openapi describes every route.
//
//go:embed openapi.yaml
var openapi []byte

// getDescription answers GET /v1/openapi.yaml.
func getDescription(*call) (answer, error) {
	return answer{raw: &rawBody{contentType: "application/yaml", text: openapi}}, nil
}
