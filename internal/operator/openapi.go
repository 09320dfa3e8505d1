package operator

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"

	"github.com/muster-gg/muster/internal/jsonschema"
)

// An object is a JSON object of the description. Its members are written in the order of their names.
type object map[string]any

type schema = jsonschema.Schema

const references = "#/components/schemas/"

// Description returns the description of these requests, with all settings on. Source: OpenAPI Specification 3.1.1.
func Description() (json.RawMessage, error) {
	schemas := map[string]*schema{}
	d := describer{
		inputs:  jsonschema.Definitions{Prefix: references, ByName: schemas, Input: true},
		answers: jsonschema.Definitions{Prefix: references, ByName: schemas},
	}
	failed := d.answers.Of(reflect.TypeFor[failure]())
	routes := everything().routes()
	for _, r := range routes {
		d.content(&r) // types of answers have their names, even where bodies use them too
	}
	paths := map[string]object{}
	for _, r := range routes {
		method, path, _ := strings.Cut(r.pattern, " ")
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path][strings.ToLower(method)] = d.operation(&r)
	}
	return json.Marshal(object{
		"openapi": "3.1.1",
		"info": object{
			"title":   "Muster operator API",
			"version": "1",
			"description": "Requests beyond the GameLift API, on the same port. More members may come in answers. " +
				"Times are RFC 3339 in UTC.",
		},
		"servers":  []object{{"url": "/"}},
		"security": []object{{"sigv4": []string{}}},
		"paths":    paths,
		"components": object{
			"schemas": schemas,
			"responses": object{"Error": object{
				"description": "An error: the name of the exception, and a sentence.", "content": inJSON(failed),
			}},
			"securitySchemes": object{"sigv4": object{
				"type": "apiKey", "in": "header", "name": "Authorization",
				"description": "AWS Signature Version 4 with an access key of the region, service gamelift. " +
					"Temporary keys also send X-Amz-Security-Token.",
				"x-amazon-apigateway-authtype": "awsSigv4",
			}},
		},
	})
}

// A describer describes routes.
type describer struct{ inputs, answers jsonschema.Definitions }

func (d *describer) operation(r *route) object {
	o := object{
		"operationId": operationID(r.pattern),
		"summary":     markdown.Replace(linked.ReplaceAllString(notes[r.pattern], "$1")),
		"responses": object{
			"200":     object{"description": "The answer.", "content": d.content(r)},
			"default": object{"$ref": "#/components/responses/Error"},
		},
	}
	if q := r.request(); q.Action != "" {
		o["x-muster-action"] = q.Action
	}
	if r.notes&unsigned != 0 {
		o["security"] = []object{}
	}
	if parameters := parametersOf(r); parameters != nil {
		o["parameters"] = parameters
	}
	if r.input != nil {
		o["requestBody"] = object{"content": inJSON(d.inputs.Of(reflect.TypeOf(r.input())))}
	}
	if r.received != nil {
		s := &schema{}
		if r.received.shape != nil {
			s = d.inputs.Of(r.received.shape)
		}
		o["requestBody"] = object{"content": object{r.received.media: object{"schema": s}}}
	}
	return o
}

// content returns the description of the answer of a route.
func (d *describer) content(r *route) object {
	s := &schema{}
	if r.shape != nil {
		s = d.answers.Of(r.shape)
	}
	if r.media == "" {
		return inJSON(s)
	}
	return object{r.media: object{"schema": s}}
}

func inJSON(s *schema) object { return object{"application/json": object{"schema": s}} }

// parametersOf returns the parameters of the path, the query and the header.
func parametersOf(r *route) (all []object) {
	for _, w := range wildcard.FindAllStringSubmatch(r.pattern, -1) {
		all = append(all, object{"name": w[1], "in": "path", "required": true, "schema": schema{Type: "string"}})
	}
	for _, name := range r.query {
		all = append(all, object{"name": name, "in": "query", "schema": queryParameters[name]})
	}
	if r.notes&unsigned != 0 {
		all = append(all, object{"name": RecoveryHeader, "in": "header", "required": true,
			"schema": schema{Type: "string"}})
	}
	return all
}

var one = 1

// queryParameters describes the parameters of queries, whose names mean the same in all requests.
var queryParameters = map[string]*schema{
	"address":  {Type: "string", Description: "an IP address, or a network such as 192.0.2.0/24"},
	"after":    {Type: "string", Description: "continues behind an earlier answer: its nextToken, after or position"},
	"builds":   {Type: "boolean", Description: "true: with the bytes of builds and objects"},
	"creator":  {Type: "string", Description: "CreatorId of game sessions"},
	"errors":   {Type: "boolean", Description: "true: failures only"},
	"event":    {Type: "string", Description: "the name of an event"},
	"fleet":    {Type: "string", Description: "the id of a fleet"},
	"follow":   {Type: "boolean", Description: "true: the answer stays open, and has new lines as they come"},
	"force":    {Type: "boolean", Description: "true: also ends the instances of the machine and their game sessions"},
	"from":     {Type: "string", Format: "date-time", Description: "at this time or later"},
	"key":      {Type: "string", Description: "the id of an access key"},
	"last":     {Type: "integer", Minimum: &one, Description: "begins with the newest so many events or lines"},
	"level":    {Type: "string", Description: "the lowest level: debug, info, warn or error"},
	"limit":    {Type: "integer", Minimum: &one, Description: "the maximum number of rows or lines"},
	"location": {Type: "string", Description: "the name of a location"},
	"machine":  {Type: "string", Description: "the name of a machine"},
	"player":   {Type: "string", Description: "the id of a player"},
	"property": {Type: "string", Description: "a game property as KEY=VALUE"},
	"q":        {Type: "string", Description: "the text to search for, or a filter expression of SearchGameSessions"},
	"queue":    {Type: "string", Description: "the name of a queue"},
	"reason":   {Type: "string", Description: "StatusReason of game sessions"},
	"resource": {Type: "string", Description: "a part of the ARN of a resource"},
	"shard":    {Type: "integer", Description: "the number of a shard"},
	"since":    {Type: "string", Format: "date-time", Description: "at this time or later"},
	"sort":     {Type: "string", Description: "the order, as in SearchGameSessions"},
	"status":   {Type: "string", Description: "the status of the rows; of placements also several, with commas"},
	"tail":     {Type: "integer", Description: "maximum bytes of the lines before, of a process that runs"},
	"text":     {Type: "string", Description: "a part of the line, in any case"},
	"title":    {Type: "string", Description: "the title of a saved view"},
	"to":       {Type: "string", Format: "date-time", Description: "before this time"},
	"topic":    {Type: "string", Description: "what to watch: overview, fleets, fleet:{fleet} and others"},
	"until":    {Type: "string", Format: "date-time", Description: "before this time"},
	"user":     {Type: "string", Description: "the name of a user"},

	"metric":        {Type: "string", Description: "the name of a metric; it can be given several times"},
	"statistic":     {Type: "string", Description: "Average, Sum, Minimum, Maximum, SampleCount, or such as p99"},
	"period":        {Type: "integer", Minimum: &one, Description: "the length of periods in seconds: by default 60"},
	"group":         {Type: "string", Description: "the name of a metric group"},
	"configuration": {Type: "string", Description: "the name of a matchmaking configuration"},
	"rule":          {Type: "string", Description: "the name of a rule of the matchmaking configuration"},
}

var (
	linked   = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
	markdown = strings.NewReplacer("`", "")
)

// operationID returns a name for a request: getUsersByName.
func operationID(pattern string) string {
	method, path, _ := strings.Cut(pattern, " ")
	id := strings.ToLower(method)
	for word := range strings.FieldsFuncSeq(strings.TrimPrefix(path, prefix), isSeparator) {
		if name, ok := strings.CutPrefix(word, "{"); ok {
			word = "by" + strings.ToUpper(name[:1]) + name[1:]
		}
		id += strings.ToUpper(word[:1]) + word[1:]
	}
	return id
}

func isSeparator(r rune) bool { return strings.ContainsRune("/-.}", r) }

// openAPI answers with the description, which is made at the first request.
func (d *Handler) openAPI(*call) (json.RawMessage, error) { return d.described() }
