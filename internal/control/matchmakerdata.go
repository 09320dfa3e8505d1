package control

import (
	"encoding/json"
	"strings"
)

// ConfigurationOf returns the name of the matchmaking configuration in the matchmaker data of a game session; "": it
// came from no match.
func ConfigurationOf(matchmakerData string) string {
	_, configuration := matchOf(matchmakerData)
	return configuration
}

// matchOf returns the id of the match in the matchmaker data of a game session, and the name of its configuration. It
// reads the data only up to these members, which are near the begin: the data of a large match has hundreds of
// kilobytes.
func matchOf(matchmakerData string) (match, configuration string) {
	d := json.NewDecoder(strings.NewReader(matchmakerData))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return "", ""
	}
	for d.More() && (match == "" || configuration == "") {
		key, err := d.Token()
		if err != nil {
			break
		}
		var value any
		if d.Decode(&value) != nil {
			break
		}
		text, _ := value.(string)
		switch key {
		case "matchId":
			match = text
		case "matchmakingConfigurationArn":
			configuration = text[strings.LastIndexByte(text, '/')+1:]
		}
	}
	return match, configuration
}
