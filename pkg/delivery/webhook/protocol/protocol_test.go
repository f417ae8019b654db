// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/test/must"
)

func readVectors(t testing.TB, file string, into any) {
	t.Helper()
	text := must.Get(os.ReadFile("testdata/" + file))(t)
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// Another HMAC implementation than Go's computed the signatures.
func TestSignature_vectors(t *testing.T) {
	var all []struct {
		Name, Secret, Method, Path, Timestamp, Nonce, Body, Signature string
		Algorithm                                                     Algorithm
	}
	readVectors(t, "signatures.json", &all)
	if len(all) < 10 {
		t.Fatalf("%d vectors", len(all))
	}
	for _, v := range all {
		signed := Signed{Method: v.Method, Path: v.Path, Timestamp: v.Timestamp, Nonce: v.Nonce, Body: []byte(v.Body)}
		if got := signed.Signature(v.Algorithm, []byte(v.Secret)); got != v.Signature {
			t.Errorf("%s: %s, expected %s", v.Name, got, v.Signature)
		}
	}
}

type recordVector struct {
	Name  string
	RRset struct {
		Zone, Name name.Name
		Type       rdata.Type
		TTL        uint32
		Data       []string
	}
	Record, Path string
}

func TestRecord_vectors(t *testing.T) {
	var all []recordVector
	readVectors(t, "records.json", &all)
	if len(all) < 15 {
		t.Fatalf("%d vectors", len(all))
	}
	for _, v := range all {
		set := RRset(v.RRset)
		write := Encode
		if !Exact(set) {
			write = EncodePresentation
		}
		record, err := write(set)
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		body, err := Marshal(record)
		if err != nil || string(body) != v.Record {
			t.Errorf("%s: %s, expected %s (%v)", v.Name, body, v.Record, err)
		}
		var read Record
		if err := json.Unmarshal([]byte(v.Record), &read); err != nil {
			t.Errorf("%s: %v", v.Name, err)
		}
		back, err := Decode(read)
		if err != nil || back.Zone != set.Zone || back.Name != set.Name || back.Type != set.Type || back.TTL != set.TTL || !slices.Equal(back.Data, set.Data) {
			t.Errorf("%s: read back as %+v (%v)", v.Name, back, err)
		}
		path, err := RecordPath(set.Zone, set.Name, set.Type)
		if err != nil || path != v.Path {
			t.Errorf("%s: path %s, expected %s (%v)", v.Name, path, v.Path, err)
		}
		zone, owner, recordType, err := ParseRecordPath(strings.TrimPrefix(path, RecordsPath))
		if err != nil || zone != set.Zone || owner != set.Name || recordType != set.Type {
			t.Errorf("%s: path %s read as %s %s %s (%v)", v.Name, path, zone, owner, recordType, err)
		}
	}
}

func TestEncode_saysWhatHasNoForm(t *testing.T) {
	zone := name.MustParse("example.com.")
	for text, set := range map[string]RRset{
		"the root":  {Zone: name.Root, Name: name.MustParse("com."), Type: rdata.NS, Data: []string{"a.example."}},
		"no UTF-8":  {Zone: zone, Name: zone, Type: rdata.TXT, Data: []string{`"\255"`}},
		"no quotes": {Zone: zone, Name: zone, Type: rdata.TXT, Data: []string{`\# 1 00`}},
		"generic":   {Zone: zone, Name: zone, Type: rdata.MX, Data: []string{`x y`}},
	} {
		if record, err := Encode(set); !errors.Is(err, ErrNoForm) {
			t.Errorf("%s: %+v, %v", text, record, err)
		}
	}
	if _, err := Encode(RRset{Zone: zone, Name: name.MustParse("example.org."), Type: rdata.A, Data: []string{"192.0.2.1"}}); err == nil {
		t.Error("a name outside the zone was written")
	}
}

func TestEncode_joinsStringsWhereItMust(t *testing.T) {
	zone := name.MustParse("example.com.")
	set := RRset{Zone: zone, Name: zone, Type: rdata.TXT, Data: []string{`"two" "strings"`}}
	record, err := Encode(set)
	if err != nil || len(record.Values) != 1 || record.Values[0] != "twostrings" || Exact(set) {
		t.Errorf("%+v, %v", record, err)
	}
}

// Names in the values of records may come with or without the final dot. Both decode to the absolute name, for every
// type with names.
func TestDecode_readsNamesInFull(t *testing.T) {
	for value, want := range map[string]string{
		"CNAME www.example.net": "www.example.net.", "KX 10 kx.example.net": "10 kx.example.net.",
		"SVCB 1 svc.example.net.": "1 svc.example.net.", "SVCB 1 svc.example.net": "1 svc.example.net.",
		`NAPTR 1 1 "s" "a" "" _sip._udp.example.com`: `1 1 "s" "a" "" _sip._udp.example.com.`,
		"RP admin.example.net people.example.net":    "admin.example.net. people.example.net.",
	} {
		kind, data, _ := strings.Cut(value, " ")
		set, err := Decode(Record{Type: kind, Domain: "example.com", Subdomain: "x", Values: []string{data}})
		if err != nil || set.Data[0] != want {
			t.Errorf("%s is %q, %v", value, set.Data, err)
		}
	}
}

// Attack 26: no value can end early and begin another record.
func TestDecode_refuses(t *testing.T) {
	for body, code := range map[string]string{
		`{"type":"A","domain":"example.com","subdomain":"www","values":["192.0.2.1\nevil 300 IN A 192.0.2.2"]}`:         CodeInvalidValue,
		`{"type":"A","domain":"example.com","subdomain":"www","values":["300"]}`:                                        CodeInvalidValue,
		`{"type":"A","domain":"example.com","subdomain":"www","values":[]}`:                                             CodeInvalidRecord,
		`{"type":"A","domain":"example.com","subdomain":"www","values":["192.0.2.1"],"ttl":-1}`:                         CodeInvalidRecord,
		`{"type":"A","domain":"example.com","subdomain":"www","values":["192.0.2.1"],"ttl":2147483648}`:                 CodeInvalidRecord,
		`{"type":"A","domain":"example.com","subdomain":"www","values":["192.0.2.1"],"metadata":{"priority":1}}`:        CodeInvalidRecord,
		`{"type":"A","domain":"example.com.","subdomain":"www","values":["192.0.2.1"]}`:                                 CodeInvalidDomain,
		`{"type":"A","domain":"","subdomain":"www","values":["192.0.2.1"]}`:                                             CodeInvalidDomain,
		`{"type":"A","domain":"example.com","subdomain":"www.example.com.","values":["192.0.2.1"]}`:                     CodeInvalidDomain,
		`{"type":"A","domain":"example.com","subdomain":"","values":["192.0.2.1"]}`:                                     CodeInvalidDomain,
		`{"type":"A","domain":"example.com","subdomain":"../..","values":["192.0.2.1"]}`:                                CodeInvalidDomain,
		`{"type":"SOA","domain":"example.com","subdomain":"@","values":["a. b. 1 1 1 1 1"]}`:                            CodeInvalidRecord,
		`{"type":"NOPE","domain":"example.com","subdomain":"@","values":["a"]}`:                                         CodeInvalidRecord,
		`{"type":"CNAME","domain":"example.com","subdomain":"a","values":["b.example","c.example"]}`:                    CodeInvalidRecord,
		`{"type":"CNAME","domain":"example.com","subdomain":"a","values":["b.example."]}`:                               CodeInvalidValue,
		`{"type":"CNAME","domain":"example.com","subdomain":"a","values":["b\\"]}`:                                      CodeInvalidValue,
		`{"type":"CNAME","domain":"example.com","subdomain":"a","values":[""]}`:                                         CodeInvalidValue,
		`{"type":"CNAME","domain":"example.com","subdomain":"a","values":["b c"]}`:                                      CodeInvalidValue,
		`{"type":"MX","domain":"example.com","subdomain":"@","values":["mx.example"]}`:                                  CodeInvalidRecord,
		`{"type":"MX","domain":"example.com","subdomain":"@","values":["5 mx.example"],"metadata":{"priority":10}}`:     CodeInvalidValue,
		`{"type":"MX","domain":"example.com","subdomain":"@","values":["mx.example"],"metadata":[{},{}]}`:               CodeInvalidRecord,
		`{"type":"SRV","domain":"example.com","subdomain":"_s._tcp","values":["s.example"],"metadata":{"priority":10}}`: CodeInvalidRecord,
	} {
		var record Record
		if err := json.Unmarshal([]byte(body), &record); err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		set, err := Decode(record)
		var refusal *Error
		if !errors.As(err, &refusal) || refusal.Code != code {
			t.Errorf("%s: %+v, %v; expected %s", body, set, err, code)
		}
	}
}

func TestSegment_escapesAllButItsOwn(t *testing.T) {
	if got := Segment("aZ09._-*@/%?#\\ ü:~+"); got != "aZ09._-*@%2F%25%3F%23%5C%20%C3%BC%3A%7E%2B" {
		t.Error(got)
	}
	for _, path := range []string{"", "/", "/A/example.com", "/A/example.com/www/x", "/A/example.com/%zz", "/A/%2e%2e/www", "/A/example.com/..%2f.."} {
		if zone, owner, _, err := ParseRecordPath(path); err == nil {
			t.Errorf("%s: read as %s in %s", path, owner, zone)
		}
	}
}

func TestTimestamp_isUTCWithSeconds(t *testing.T) {
	at := time.Date(2025, 12, 30, 11, 0, 0, 123456789, time.FixedZone("", 3600))
	if got := Timestamp(at); got != "2025-12-30T10:00:00Z" {
		t.Error(got)
	}
}

// An accepted record survives encoding and decoding unchanged.
func FuzzDecode(f *testing.F) {
	var all []recordVector
	readVectors(f, "records.json", &all)
	for _, v := range all {
		f.Add([]byte(v.Record), v.Path)
	}
	f.Fuzz(func(t *testing.T, body []byte, path string) {
		if zone, owner, recordType, err := ParseRecordPath(path); err == nil {
			again, err := RecordPath(zone, owner, recordType)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if z, o, r, err := ParseRecordPath(strings.TrimPrefix(again, RecordsPath)); err != nil || z != zone || o != owner || r != recordType {
				t.Fatalf("%s became %s: %v", path, again, err)
			}
		}
		var record Record
		if json.Unmarshal(body, &record) != nil {
			return
		}
		set, err := Decode(record)
		var refusal *Error
		if err != nil {
			if !errors.As(err, &refusal) {
				t.Fatalf("%s: %v is no *Error", body, err)
			}
			return
		}
		write := Encode
		if !Exact(set) {
			write = EncodePresentation
		}
		written, err := write(set)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		again, err := Decode(written)
		if err != nil || again.Name != set.Name || again.TTL != set.TTL || !slices.Equal(again.Data, set.Data) {
			t.Fatalf("%s: %+v became %+v (%v)", body, set, again, err)
		}
	})
}

// Every JSON line in docs/webhook.md is valid in the protocol as it is now: it decodes without unknown fields, and
// encodes to the same text.
func TestDocs_showTheProtocol(t *testing.T) {
	text := must.Get(os.ReadFile("../../../../docs/webhook.md"))(t)
	shown := 0
	for _, block := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllSubmatch(text, -1) {
		for line := range strings.Lines(string(block[1])) {
			line = strings.TrimSpace(line)
			var into any = new(Response)
			switch {
			case strings.Contains(line, `"operations"`):
				into = new(Batch)
			case strings.Contains(line, `"results"`):
				into = new(BatchResponse)
			case strings.Contains(line, `"operation"`):
				into = new(Request)
			}
			decoder := json.NewDecoder(bytes.NewReader([]byte(line)))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(into); err != nil {
				t.Errorf("%s: %v", line, err)
				continue
			}
			if again, err := Marshal(into); err != nil || string(again) != line {
				t.Errorf("%s is written %s (%v)", line, again, err)
			}
			if request, ok := into.(*Request); ok {
				if _, err := Decode(request.Record); err != nil {
					t.Errorf("%s: %v", line, err)
				}
			}
			shown++
		}
	}
	if shown < 5 {
		t.Errorf("%d lines", shown)
	}
}
