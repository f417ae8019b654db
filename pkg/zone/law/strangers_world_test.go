// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/pkg/zone/law/zones"
)

// script is a world in lines, one per act. Namespace own has the zone org. and may write everything there. Names are
// relative to org. A Record is named by owner and type. DNS updates and challenges need no acts: package law decides
// them as writes of Records.
//
//	own rules a: * zone:*; b: pay _dmarc.*; c: shared:s x[any] the rules of org., some for types
//	own delegates b: pay the same by a Delegation
//	a writes pay A | MX w | TXT x100 | CNAME w wait | A in dev a type; a target, 100 values, waiting, in a view
//	a deletes pay A
//	a changes deletes pay A, writes pay CNAME w a ChangeSet: all or nothing
//	b zones d; c: * a zone, with rules for others; "d in dev": in a view
//	b unzones d
//	servers begin | move | unlock | settle the stage for all pending cascades
//	time passes 25 hours: periods end
type script []string

const (
	scriptOwner  = "own"
	scriptPeriod = 24 * 3600
)

type actor struct {
	*movingWorld
	// existing and waits give the act since when each Record is adopted, or waits.
	existing, waits map[object]int
	// warned holds the Records whose last write warned of another namespace at the target, and the namespaces with
	// names whose last write or deletion warned of a hidden name.
	warned map[object]bool
	ruled  int // the last act that changed rules
}

type moment struct {
	refusal *law.Refusal
	forest  dnsForest
	zones   []*law.Zone
	// settled: no work is pending.
	settled         bool
	existing, waits map[object]int
	// annotated holds the Records with the annotation kubi.zone/on-conflict, and warned is that of the actor.
	annotated, warned map[object]bool
	ruled             int
	lockers           []string     // the namespaces whose moves lock names
	notices           []law.Notice // world.notices
	// unruled holds the adopted Records without a rule or a running period.
	unruled []object
}

func (s script) playScript(without map[int]bool) []*moment {
	x := &actor{movingWorld: newMovingWorld(false), existing: map[object]int{}, waits: map[object]int{}, warned: map[object]bool{}}
	var out []*moment
	for i, line := range s {
		x.now = x.now.Add(time.Second)
		var refusal *law.Refusal
		if !without[i] {
			earlier := len(x.notices)
			refusal = x.performAct(line)
			x.labelWorks(fmt.Sprint("act ", i))
			if f := strings.Fields(line); len(f) > 2 && f[1] == "writes" { // the twin judges whether the writer may hide a name
				x.notices = append(x.notices[:earlier], slices.DeleteFunc(x.notices[earlier:], func(n law.Notice) bool {
					return n.Reason == law.NoticeNameHidden && n.Name.Encloses(scriptName(f[2]))
				})...)
			}
		}
		if i == 0 {
			x.settleMoves()
		}
		if verb := strings.Fields(line)[1]; verb == "rules" || verb == "delegates" || verb == "zones" {
			x.ruled = i
		}
		out = append(out, x.lookAround(i, refusal))
	}
	for _, w := range x.walks {
		w.stop()
	}
	return out
}

func (x *actor) performAct(line string) (refusal *law.Refusal) {
	by, rest, _ := strings.Cut(line, " ")
	verb, rest, _ := strings.Cut(rest, " ")
	switch {
	case by == "servers":
		x.carryOn(verb)
	case by == "time":
		x.now = x.now.Add(25 * time.Hour)
		x.passTime(25 * time.Hour)
	case verb == "rules":
		_, refusal = x.putZone(x.makeZone(by, "@", parseRules(rest)), true)
	case verb == "delegates":
		for _, r := range parseRules(rest) {
			o := object{by, r.Namespaces[0]}
			if _, refusal = x.putDelegation(o, zones.DelegationSpec{Zone: "@", Rule: r}); refusal != nil {
				break
			}
		}
	case verb == "zones":
		at, text, _ := strings.Cut(rest, "; ")
		spec := x.makeZone(by, at, parseRules(text))
		_, refusal = x.putZone(spec, spec.View != "")
	case verb == "unzones":
		if z := x.zones[object{by, rest}]; z != nil {
			z.annotated = true
			_, refusal = x.tryDeleteZone(object{by, rest})
		}
	case verb == "changes":
		return x.changeTogether(by, strings.Split(rest, ", "))
	default:
		return x.changeRecord(by, verb, strings.Fields(rest))
	}
	return refusal
}

func (x *actor) changeRecord(by, verb string, fields []string) *law.Refusal {
	o := object{by, fields[0] + " " + fields[1]}
	if verb == "deletes" {
		if x.records[o] != nil {
			x.warned[object{by, scriptName(fields[0]).String()}] = hasWarning(x.deleteRecord(o), "S4.25", "hide")
		}
		return nil
	}
	plan, refusal := x.putRecord(parseSpeech(o, fields))
	if refusal == nil {
		x.warned[object{by, scriptName(fields[0]).String()}] = hasWarning(plan, "S4.25", "hide")
		x.warned[o] = hasWarning(plan, "S4.18", "which another namespace claims: that namespace decides")
	}
	return refusal
}

func hasWarning(plan *law.Plan, rule, text string) bool {
	return slices.ContainsFunc(plan.Warnings, func(w law.Warning) bool {
		return w.Rule == rule && strings.Contains(w.Text, text)
	})
}

// changeTogether makes a single transaction (S10.5).
func (x *actor) changeTogether(by string, changes []string) *law.Refusal {
	was := *x.world
	was.facts, was.waiting, was.holds, was.outbox = maps.Clone(x.facts), maps.Clone(x.waiting), maps.Clone(x.holds), slices.Clone(x.outbox)
	was.views, was.journal = maps.Clone(x.views), maps.Clone(x.journal)
	was.zones, was.records = map[object]*zoneObject{}, map[object]*recordObject{}
	for o, z := range x.zones {
		copied := *z
		was.zones[o] = &copied
	}
	for o, r := range x.records {
		copied := *r
		was.records[o] = &copied
	}
	for _, text := range changes {
		verb, rest, _ := strings.Cut(text, " ")
		if refusal := x.changeRecord(by, verb, strings.Fields(rest)); refusal != nil {
			*x.world = was
			return refusal
		}
	}
	return nil
}

func (x *actor) carryOn(to string) {
	if to == "settle" {
		x.settleMoves()
		return
	}
	stage := map[string]string{"begin": "begun", "move": "moved", "unlock": "unlocked"}[to]
	for _, w := range slices.Clone(x.outbox) {
		label := x.labels[w.ID]
		if at := x.walkOf(label, 1); at != nil && (to != "begin" || at.at == "") && at.at != "unlocked" && at.at != "tried" {
			x.walkTo(at, stage)
		}
	}
}

func (x *actor) lookAround(i int, refusal *law.Refusal) *moment {
	m := &moment{refusal: refusal, settled: len(x.outbox) == 0, warned: maps.Clone(x.warned), annotated: map[object]bool{},
		ruled: x.ruled, notices: slices.Clone(x.notices)}
	m.forest = x.buildForest()
	for _, o := range sortedObjects(x.zones) {
		z := x.zones[o].zone
		if z.Pending || z.View != "" {
			continue
		}
		m.zones = append(m.zones, x.uniteRules(z))
		for _, w := range x.holdingOf(z).Works {
			if !w.Locks.IsZero() {
				m.lockers = append(m.lockers, w.By)
			}
		}
	}
	for o, r := range x.records {
		exists := r.placed.Zone != nil || r.placed.Reason == law.ReasonMoving
		noteSince(x.existing, o, i, exists)
		noteSince(x.waits, o, i, !exists && r.record.View == "")
		m.annotated[o] = r.record.WaitsOnConflict
		if z := r.placed.Zone; z != nil && m.settled && r.placed.Reason != law.ReasonDelegationWithdrawn {
			in := x.uniteRules(x.zones[object{z.Namespace, z.Name}].zone)
			if len(in.RuleSet().FindGrants(r.placed.FQDN, r.record.Type, o.Namespace)) == 0 {
				m.unruled = append(m.unruled, o)
			}
		}
	}
	for _, since := range []map[object]int{x.existing, x.waits} {
		maps.DeleteFunc(since, func(o object, _ int) bool { return x.records[o] == nil })
	}
	m.existing, m.waits = maps.Clone(x.existing), maps.Clone(x.waits)
	return m
}

func noteSince(since map[object]int, o object, now int, is bool) {
	if _, was := since[o]; !is {
		delete(since, o)
	} else if !was {
		since[o] = now
	}
}

func (x *actor) makeZone(by, at string, given []rules.Rule) zones.ZoneSpec {
	owner, view, _ := strings.Cut(at, " in ")
	own := parseRules(by + ": *[any] @[any] zone:*")
	settings := makeSettings(append(own, given...), scriptPeriod, 100)
	header := someHeader // with a name server, for resolvers
	header.NameServers = []content.NameServer{{Name: "ns.example.net."}}
	return zones.ZoneSpec{Ref: law.Ref{Namespace: by, Name: at}, DomainName: scriptName(owner).String(), View: view, Header: header,
		ZoneSettings: settings}
}

// parseRules reads "NAMESPACE: PATTERN...; NAMESPACE: ...".
func parseRules(text string) (all []rules.Rule) {
	for _, part := range strings.Split(text, "; ") {
		to, patterns, _ := strings.Cut(part, ":")
		r := rules.Rule{Namespaces: strings.Split(to, ",")}
		for _, p := range strings.Fields(patterns) {
			p, isZone := strings.CutPrefix(p, "zone:")
			p, isShared := strings.CutPrefix(p, "shared:")
			p, list, _ := strings.Cut(strings.TrimSuffix(p, "]"), "[")
			types := parseTypes(list)
			if isZone {
				r.Zones = append(r.Zones, makeRecordRule(p, nil, false).Pattern)
			} else {
				r.Records = append(r.Records, makeRecordRule(p, types, isShared))
			}
		}
		if len(r.Records)+len(r.Zones) > 0 {
			all = append(all, r)
		}
	}
	return all
}

func makeRecordRule(text string, types []rdata.Type, shared bool) rules.RecordRule {
	return rules.RecordRule{Pattern: mustParse(pattern.Parse(text)), Text: text, Types: types, Shared: shared}
}

// parseTypes reads the types of a rule: "any" means all, "" none.
func parseTypes(list string) (types []rdata.Type) {
	if list == "any" {
		return scriptTypes
	}
	for _, text := range strings.Split(list, ",") {
		if t, err := rdata.ParseType(text); err == nil {
			types = append(types, t)
		}
	}
	return types
}

var scriptData = map[rdata.Type]string{
	rdata.A:     "192.0.2.NUMBER",
	rdata.AAAA:  "2001:db8::NUMBER",
	rdata.TXT:   "by-NUMBER",
	rdata.CAA:   `0 issue "ca-NUMBER.example"`,
	rdata.CNAME: "TARGET",
	rdata.MX:    "10 TARGET",
	rdata.SRV:   "0 0 443 TARGET",
	rdata.SVCB:  "1 TARGET",
	rdata.HTTPS: "1 TARGET",
	rdata.NAPTR: `10 10 "s" "SIP+D2U" "" TARGET`,
	rdata.URI:   `10 1 "https://NUMBER.example/"`,
	rdata.NS:    "TARGET",
	rdata.DNAME: "TARGET",
	rdata.DS:    "NUMBER 13 2 " + strings.Repeat("0", 64),
	rdata.TLSA:  "3 1 1 NUMBER" + strings.Repeat("0", 63),
}

var scriptTypes = slices.Sorted(maps.Keys(scriptData))

func (o object) readOwner() string {
	owner, _, _ := strings.Cut(o.Name, " ")
	return owner
}

func ownerOfAct(line string) string {
	f := strings.Fields(line)
	switch f[1] {
	case "writes", "deletes", "zones", "unzones":
		return strings.TrimSuffix(f[2], ";")
	case "changes":
		return f[3]
	}
	return "@"
}

// scriptName returns the name of an owner, and scriptBase its base.
func scriptName(owner string) name.Name {
	n, err := name.MustRel(owner).In(name.MustParse("org."))
	if err != nil {
		panic(err)
	}
	return n
}

func scriptBase(owner string) name.Name { return scriptName(baseName(name.MustRel(owner)).String()) }

// parseSpeech reads a Record: OWNER TYPE [TARGET] [x100] [wait] [in VIEW].
func parseSpeech(o object, fields []string) law.Record {
	r := law.Record{Namespace: o.Namespace, Name: o.Name, DomainName: scriptName(fields[0]).String()}
	number := fmt.Sprint(slices.Index(scriptNamespaces, o.Namespace) + 1)
	target, many := "e"+number+".example.net.", 1
	for i := 2; i < len(fields); i++ {
		switch fields[i] {
		case "x100":
			many = 100
		case "wait":
			r.WaitsOnConflict = true
		case "in":
			i++
			r.View = fields[i]
		default:
			target = fields[i] + ".org."
		}
	}
	r.Type, _ = rdata.ParseType(fields[1])
	for n := range many {
		text := strings.NewReplacer("TARGET", target, "NUMBER", number).Replace(scriptData[r.Type])
		if many > 1 {
			text += fmt.Sprint("-", n)
		}
		v, err := rdata.Parse(r.Type, text)
		if err != nil {
			panic(fmt.Sprint(fields, err))
		}
		r.Values = append(r.Values, v)
	}
	return r
}

// tailOf returns the labels after the last "*" of a pattern as a name of the zone, or all labels of a literal pattern.
func tailOf(p pattern.Pattern, zone name.Name) name.Name {
	text := p.String()
	if i := strings.LastIndex(text, "*"); i >= 0 {
		_, text, _ = strings.Cut(text[i:], ".")
	}
	if text == "" {
		return zone
	}
	n, _ := name.ParseIn(text, zone)
	return n
}
