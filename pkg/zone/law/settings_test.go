// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/pkg/zone/law/zones"
	"kubi.zone/kubizone/test/must"
)

func parsePattern(t *testing.T, text string) pattern.Pattern {
	t.Helper()
	return must.Get(pattern.Parse(text))(t)
}

// Objects are decided again only if the zone's rules change. A new setting that such decisions read belongs into
// ZoneRules, because otherwise forbidden records would stay.
func TestZoneSettings_rulesDecideAgain_S2_5(t *testing.T) {
	t.Parallel()
	percent := uint32(7)
	one := func(s *law.ZoneSettings) *rules.Rule {
		s.Rules = slices.Clone(s.Rules)
		s.Rules[0].Records = slices.Clone(s.Rules[0].Records)
		return &s.Rules[0]
	}
	changes := map[string]func(*law.ZoneSettings){
		"Rules":               func(s *law.ZoneSettings) { s.Rules = s.Rules[1:] },
		"RecordsPerNamespace": func(s *law.ZoneSettings) { s.RecordsPerNamespace++ },
		"MinTTL":              func(s *law.ZoneSettings) { s.MinTTL++ },
		"Rule.Records":        func(s *law.ZoneSettings) { r := one(s); r.Records = r.Records[1:] },
		"Rule.Zones":          func(s *law.ZoneSettings) { one(s).Zones = nil },
		"Rule.Namespaces":     func(s *law.ZoneSettings) { one(s).Namespaces = []string{"another"} },
		"Rule.DS":             func(s *law.ZoneSettings) { one(s).DS = true },
		"RecordRule.Pattern": func(s *law.ZoneSettings) { // always with its stored text
			r := &one(s).Records[0]
			r.Pattern, r.Text = parsePattern(t, "www"), "www"
		},
		"RecordRule.Text":   func(s *law.ZoneSettings) { one(s).Records[0].Text = "www" },
		"RecordRule.Types":  func(s *law.ZoneSettings) { one(s).Records[0].Types = []rdata.Type{rdata.TXT} },
		"RecordRule.Shared": func(s *law.ZoneSettings) { one(s).Records[0].Shared = true },

		"MinimumSerial":    func(s *law.ZoneSettings) { s.MinimumSerial = &percent },
		"Terminating":      func(s *law.ZoneSettings) { s.Terminating = true },
		"Grace":            func(s *law.ZoneSettings) { s.Grace++ },
		"HasClass":         func(s *law.ZoneSettings) { s.HasClass = true },
		"MaxDeletePercent": func(s *law.ZoneSettings) { s.MaxDeletePercent++ },
		"ReleaseNow":       func(s *law.ZoneSettings) { s.ReleaseNow = []string{"a"} },
		"Publish":          func(s *law.ZoneSettings) { s.Publish = &percent },
		"DS":               func(s *law.ZoneSettings) { s.DS = []string{"1 13 2 00"} },
		"Reverse":          func(s *law.ZoneSettings) { s.Reverse = &law.Reverse{Zones: []string{"other"}} },
	}
	check := func(path string, rules bool) {
		change := changes[path]
		if delete(changes, path); change == nil {
			t.Errorf("%s is new: say in this test how it changes. A setting that a decision about a Record or a Zone reads "+
				"belongs in ZoneRules (pkg/zone/law/zone.go), so that what stands is decided anew (S2.5).", path)
			return
		}
		w := newWorld()
		spec := zones.ZoneSpec{Ref: law.Ref{Namespace: "owner", Name: "example"}, DomainName: "2.0.192.in-addr.arpa.",
			ZoneSettings: makeSettings(allowEverything(), 3600, 30),
			Header:       someHeader}
		mustAccept(w.putZone(spec, true))(t)
		w.settleAll()
		change(&spec.ZoneSettings)
		plan, refusal := w.putZone(spec, true)
		if refusal != nil {
			t.Fatalf("%s: %v", path, refusal)
		}
		if again := plan.Work != nil && slices.ContainsFunc(plan.Work.Scans,
			func(s law.Scan) bool { return s.Kind == law.ScanMembers }); again != rules {
			t.Errorf("after a change of %s what stands is decided anew: %v, want %v", path, again, rules)
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[law.ZoneSettings]()) {
		if !f.Anonymous {
			_, rules := reflect.TypeFor[law.ZoneRules]().FieldByName(f.Name)
			check(f.Name, rules)
		}
	}
	for _, of := range []reflect.Type{reflect.TypeFor[rules.Rule](), reflect.TypeFor[rules.RecordRule]()} {
		for _, f := range reflect.VisibleFields(of) {
			check(of.Name()+"."+f.Name, true)
		}
	}
	for path := range changes {
		t.Errorf("%s is no field", path)
	}
}

// S4.3.
func TestRule_isStoredWhole_S4_3(t *testing.T) {
	t.Parallel()
	rule := rules.Rule{Namespaces: []string{"team"}, DS: true, Zones: []pattern.Pattern{parsePattern(t, "*.dev")},
		Records: []rules.RecordRule{{Pattern: parsePattern(t, "www"), Text: "www", Types: []rdata.Type{rdata.A}, Shared: true}}}
	for _, v := range []reflect.Value{reflect.ValueOf(rule), reflect.ValueOf(rule.Records[0])} {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("%s.%s is new: set it in this test, and store it in storedRule (pkg/zone/law/delegation.go)", v.Type().Name(),
					v.Type().Field(i).Name)
			}
		}
	}
	data := must.Get(json.Marshal(rule))(t)
	var read rules.Rule
	if err := json.Unmarshal(data, &read); err != nil || !reflect.DeepEqual(read, rule) {
		t.Errorf("%s is read as %+v, %v, want %+v", data, read, err, rule)
	}
}
