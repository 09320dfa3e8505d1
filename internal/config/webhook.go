package config

import (
	"errors"
	"fmt"
	"strings"
)

// everyTopic is the topic of a webhook that gets all events.
const everyTopic = "*"

// A Webhook is an endpoint that events are delivered to.
type Webhook struct {
	Topic string // a NotificationTarget; "*" for all events
	URL   string
}

// ParseWebhook reads TOPIC=URL or URL.
func ParseWebhook(text string) Webhook {
	topic, url, ok := strings.Cut(text, "=")
	if !ok || webURL(text) == nil { // a URL may have an equals sign in its query
		return Webhook{everyTopic, text}
	}
	return Webhook{topic, url}
}

// webhook checks a Webhook.
func webhook(text string) error {
	w := ParseWebhook(text)
	if w.Topic == "" {
		return errors.New("an entry has no topic before its equals sign: write TOPIC=URL, or a URL alone")
	}
	if webURL(w.URL) != nil { // whose error shows the URL
		return fmt.Errorf("%q is not a URL such as https://backend.example.com/events", ShownURL(w.URL))
	}
	if strings.HasSuffix(w.URL, "?"+hidden) {
		return fmt.Errorf("%q has a query that muster config has hidden: write the query itself", w.URL)
	}
	return nil
}

// shownWebhook returns an entry without its secrets.
func shownWebhook(text string) string {
	w := ParseWebhook(text)
	if w.Topic == everyTopic {
		return ShownURL(w.URL)
	}
	return w.Topic + "=" + ShownURL(w.URL)
}
