// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/bind9/agent/rndc"
	"kubi.zone/kubizone/pkg/primary"
	"kubi.zone/kubizone/pkg/transfer"
	"kubi.zone/kubizone/test/rig"
	"sigs.k8s.io/yaml"
)

// agentKey controls named and signs updates.
var agentKey = rig.TSIGKey{Name: "agent", Algorithm: "hmac-sha256", Secret: "YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBvY3RldHMgb2s="}

const testToken = "a token that is long enough"

// fixture is an agent before a real named.
type fixture struct {
	t      *testing.T
	bind   *rig.BIND
	agent  *Agent
	server *httptest.Server
	token  string
}

func newFixture(t *testing.T, change func(*rig.BINDConfig, *Config)) *fixture {
	t.Helper()
	control, err := rig.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	named := rig.BINDConfig{Controls: []rig.Control{{Addr: control, Key: agentKey}}, Options: "allow-new-zones yes;\n"}
	keys, err := primary.ParseKeys(agentKey.Statement())
	if err != nil {
		t.Fatal(err)
	}
	config := Config{
		Control: &rndc.Client{Address: control.String(), Keys: func() ([]rndc.Key, error) {
			return []rndc.Key{{Algorithm: agentKey.Algorithm, MAC: keys[0].MAC}}, nil
		}},
		UpdateKey: func() (transfer.Key, error) {
			return transfer.Key{Name: keys[0].Name, Algorithm: string(keys[0].Algorithm), MAC: keys[0].MAC}, nil
		},
		Authenticate: func(r *http.Request) (string, error) {
			if r.Header.Get("Authorization") != "Bearer "+testToken {
				return "", refuse(http.StatusUnauthorized, "not our token")
			}
			return "test", nil
		},
		Rate: 100_000, Burst: 100_000, Version: "test", Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Now: time.Now,
	}
	if change != nil {
		change(&named, &config)
	}
	bind, err := rig.StartBIND(t.Context(), named)
	rig.SkipMissing(t, err)
	t.Cleanup(func() { bind.Close() })
	config.Nameserver, config.ZoneDir = bind.Addr.String(), bind.Dir()
	agent, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(agent)
	t.Cleanup(server.Close)
	return &fixture{t: t, bind: bind, agent: agent, server: server, token: testToken}
}

// reply is an answer that the description of the API allows.
type reply struct {
	status int
	header http.Header
	text   string
	body   map[string]any
}

func (r reply) String() string { return fmt.Sprintf("%d %s", r.status, strings.TrimSpace(r.text)) }

// ask sends a request and holds the answer to openapi.yaml. body is JSON text, or a value.
func (f *fixture) ask(method, path string, body any) reply {
	f.t.Helper()
	var sent io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		sent = strings.NewReader(body)
	default:
		encoded, err := json.Marshal(body)
		if err != nil {
			f.t.Fatal(err)
		}
		sent = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(f.t.Context(), method, f.server.URL+path, sent)
	if err != nil {
		f.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+f.token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		f.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	answer := reply{status: response.StatusCode, header: response.Header, text: string(text)}
	if err := described.judge(method, path, response, text); err != nil {
		f.t.Errorf("%s %s: %s: %v", method, path, answer, err)
	}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(text, &answer.body); err != nil {
			f.t.Fatal(err)
		}
	}
	return answer
}

// want asks, and fails the test unless the answer has that status and text.
func (f *fixture) want(status int, text, method, path string, body any) reply {
	f.t.Helper()
	answer := f.ask(method, "/api/v1"+path, body)
	if answer.status != status || !strings.Contains(answer.text, text) {
		f.t.Errorf("%s %s: %s; want %d with %q", method, path, answer, status, text)
	}
	return answer
}

// dig returns the data of an RRset as the server has it, sorted.
func (f *fixture) dig(arguments ...string) string {
	f.t.Helper()
	text, err := rig.Dig{Server: f.bind.Addr}.Run(f.t.Context(), append([]string{"+short", "+norecurse"}, arguments...)...)
	if err != nil {
		f.t.Fatal(err)
	}
	lines := strings.Fields(strings.ReplaceAll(strings.TrimSpace(text), " ", "_"))
	slices.Sort(lines)
	return strings.Join(lines, " ")
}

// description is openapi.yaml as this test reads it.
type description struct {
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		Schemas   map[string]map[string]any
		Responses map[string]response
	}
}

type response struct {
	Ref     string `json:"$ref"`
	Headers map[string]struct{ Required bool }
	Content map[string]struct{ Schema map[string]any }
}

var described = func() *description {
	d := new(description)
	if err := yaml.Unmarshal(Description, d); err != nil {
		panic(err)
	}
	return d
}()

// judge says where an answer is not what the description promises.
func (d *description) judge(method, path string, got *http.Response, text []byte) error {
	path, _, _ = strings.Cut(path, "?")
	for template, operations := range d.Paths {
		if !regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(template), `\{name\}`, "[^/]+") + "$").MatchString(path) {
			continue
		}
		var operation struct{ Responses map[string]response }
		if err := json.Unmarshal(operations[strings.ToLower(method)], &operation); err != nil {
			return fmt.Errorf("no %s of %s: %w", method, template, err)
		}
		promised, ok := operation.Responses[fmt.Sprint(got.StatusCode)]
		if !ok {
			return fmt.Errorf("status %d of %s %s is not described", got.StatusCode, method, template)
		}
		if promised.Ref != "" {
			promised = d.Components.Responses[promised.Ref[strings.LastIndex(promised.Ref, "/")+1:]]
		}
		for header, needs := range promised.Headers {
			if needs.Required && got.Header.Get(header) == "" {
				return fmt.Errorf("no header %s", header)
			}
		}
		kind, _, _ := strings.Cut(got.Header.Get("Content-Type"), ";")
		content, ok := promised.Content[kind]
		if !ok {
			return fmt.Errorf("content type %q is not described", kind)
		}
		if kind != "application/json" {
			return nil
		}
		var value any
		if err := json.Unmarshal(text, &value); err != nil {
			return err
		}
		return d.check(content.Schema, value, "body")
	}
	return fmt.Errorf("the path is not described")
}

// check is the part of JSON Schema that the description uses.
func (d *description) check(schema map[string]any, value any, at string) error {
	if ref, ok := schema["$ref"].(string); ok {
		named := d.Components.Schemas[ref[strings.LastIndex(ref, "/")+1:]]
		if named == nil {
			return fmt.Errorf("%s: no schema %s", at, ref)
		}
		return d.check(named, value, at)
	}
	is := map[string]bool{}
	switch value := value.(type) {
	case nil:
		is["null"] = true
	case bool:
		is["boolean"] = true
	case string:
		is["string"] = true
	case float64:
		is["number"], is["integer"] = true, value == float64(int64(value))
		if least, ok := schema["minimum"].(float64); ok && value < least {
			return fmt.Errorf("%s: %v is less than %v", at, value, least)
		}
		if most, ok := schema["maximum"].(float64); ok && value > most {
			return fmt.Errorf("%s: %v is more than %v", at, value, most)
		}
	case []any:
		is["array"] = true
		for i, one := range value {
			items, _ := schema["items"].(map[string]any)
			if err := d.check(items, one, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	case map[string]any:
		is["object"] = true
		properties, _ := schema["properties"].(map[string]any)
		required, _ := schema["required"].([]any)
		for _, name := range required {
			if _, has := value[name.(string)]; !has {
				return fmt.Errorf("%s.%s is missing", at, name)
			}
		}
		for name, one := range value {
			property, known := properties[name].(map[string]any)
			if !known {
				return fmt.Errorf("%s.%s is not described", at, name)
			}
			if err := d.check(property, one, at+"."+name); err != nil {
				return err
			}
		}
	}
	types, _ := schema["type"].([]any)
	if one, ok := schema["type"].(string); ok {
		types = []any{one}
	}
	if !slices.ContainsFunc(types, func(t any) bool { return is[t.(string)] }) {
		return fmt.Errorf("%s: %v is not of type %v", at, value, types)
	}
	return nil
}

// fieldsOf are the names of a type's fields in JSON, sorted.
func fieldsOf(value any) (fields []string) {
	of := reflect.TypeOf(value)
	for i := range of.NumField() {
		field, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		fields = append(fields, field)
	}
	slices.Sort(fields)
	return fields
}

func propertiesOf(schema string) []string {
	properties, _ := described.Components.Schemas[schema]["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(properties))
}
