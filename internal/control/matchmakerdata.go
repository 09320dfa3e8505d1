package control

import (
	"encoding/json"
	"strings"
)

// ConfigurationOf returns the name of the matchmaking configuration in the matchmaker data of a game session; "": it
// came from no match. It reads the data only up to that member, which is near the begin: the data of a large match has
// hundreds of kilobytes.
func ConfigurationOf(matchmakerData string) string {
	d := json.NewDecoder(strings.NewReader(matchmakerData))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return ""
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return ""
		}
		var value any
		if d.Decode(&value) != nil {
			return ""
		}
		if arn, ok := value.(string); ok && key == "matchmakingConfigurationArn" {
			return arn[strings.LastIndexByte(arn, '/')+1:]
		}
	}
	return ""
}
