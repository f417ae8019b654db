// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"kubi.zone/kubizone/pkg/apis/pattern"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/law/rules"
	"kubi.zone/kubizone/pkg/zone/law/zones"
	"kubi.zone/kubizone/test/must"
	"kubi.zone/kubizone/test/situations"
)

var scenarios = flag.String("scenarios", "testdata/*.txt", "the files that TestScenarios runs, such as what test/model writes")

// TestScenarios runs testdata/*.txt. Every command is followed by a check of the whole state, every settle by a check
// for forgotten work. "go test -rewrite" rewrites the output. Commands:
//
//	zone NS/NAME [establish] [ref=NS/NAME] [view=VIEW]     create or replace; the first line is the domain name, then
//	    ns HOST [ADDRESS...]                                   spec.nameServers
//	    allow PATTERN,... [types=A,...] [shared] [to NS...]    a rule for records
//	    zones PATTERN,... [ds] [to NS...]                      a rule for zones
//	    grace DURATION                                         spec.withdrawalGracePeriod, 0s without
//	    release NS...                                          the annotation kubi.zone/release-now
//	    percent N | publish SERIAL                             spec.limits.maxDeletePercent, 30 without; the annotation (S7.5)
//	    reverse ZONE... [to NS...] [all]                       spec.reverse
//	    limit N | minimum SERIAL | ttl N | expire N | class | contact TEXT | primary NAME
//	record NS/NAME [ref=NS/NAME] [view=VIEW] [wait]        create or replace; a line per value: NAME [TTL] TYPE RDATA;
//	    [expires=DURATION|TIME] [made]                         spec.expiresAt; made: by an update or a challenge
//	records                                                creates, a line each: NS/NAME NAME [TTL] TYPE RDATA [; ref=NS/NAME]; lists records not adopted
//	try                                                    creates, a line each: NS NAME [TTL] TYPE RDATA [; ref=NS/NAME];
//	                                                       each is decided alone, and then undone
//	sign NS/NAME                                           status.dnssec.ds: a line each, none without
//	delegation NS/NAME ZONE                                create or replace: lines as in zone, each rule for the namespaces of the first
//	fill NS PREFIX COUNT [wait]                            COUNT records; a line as in record, % is the number, & the number in three digits
//	drop NS PREFIX FROM TO [every=DURATION]                delete records of fill, PREFIX with each number; reports begin and end of a hold
//	delete record|zone|delegation NS/NAME; terminate zone NS/NAME; deleting record NS/NAME
//	COMMAND settle                                         and then settle
//	reset; settle; clock TIME|+DURATION; overdue; floor SERIAL jump=N (of a restored store)
//	run DURATION                                           servers run so long: periods may end
//	show zone|record|claims|members|entries|journal|waiting ...; grep=TEXT keeps lines with it
//	show notices                                           the Events since the last such command, by namespace
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob(*scenarios)
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			w := newWorld()
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				if d.Cmd == "reset" {
					w = newWorld()
					return ""
				}
				return w.runCommand(t, d)
			})
		})
	}
}

func (w *world) runCommand(t *testing.T, d *datadriven.TestData) (out string) {
	defer func() {
		if r := recover(); r != nil {
			if text, ok := r.(string); ok && strings.HasPrefix(text, "invariant: ") {
				t.Errorf("%s: %s", d.Pos, text)
				out = text + "\n"
				return
			}
			panic(r)
		}
	}()
	w.now = w.now.Add(time.Second)
	switch d.Cmd {
	case "zone":
		plan, refusal := w.putZone(parseZone(t, d), d.HasArg("establish"))
		out = w.describeOutcome(plan, refusal)
	case "delegation":
		o := parseObject(t, d, d.CmdArgs[0].Key)
		spec := zones.DelegationSpec{Zone: d.CmdArgs[1].Key}
		for _, line := range strings.Split(d.Input, "\n") {
			if names, ok := strings.CutPrefix(line, "release "); ok {
				spec.ReleaseNow = strings.Fields(names)
				continue
			}
			r := parseRule(t, d, strings.Fields(line))
			if spec.Rule.Namespaces == nil {
				spec.Rule.Namespaces = r.Namespaces
			}
			spec.Rule.DS = spec.Rule.DS || r.DS
			spec.Rule.Records, spec.Rule.Zones = append(spec.Rule.Records, r.Records...), append(spec.Rule.Zones, r.Zones...)
		}
		plan, refusal := w.putDelegation(o, spec)
		out = w.describeOutcome(plan, refusal)
	case "sign":
		out = w.describeOutcome(w.signZone(parseObject(t, d, d.CmdArgs[0].Key), parseSigners(t, d)), nil)
	case "record":
		r := parseRecord(t, d, object{}, d.Input)
		var expires string
		if d.MaybeScanArgs(t, "expires", &expires); expires != "" {
			r.ExpiresAt = parseExpiry(t, d, expires, w.now)
		}
		r.DeletedAtExpiry = d.HasArg("made")
		plan, refusal := w.putRecord(r)
		out = w.describeOutcome(plan, refusal)
	case "records":
		out = w.putRecords(t, d)
	case "try":
		out = w.tryRecords(t, d)
	case "fill":
		out = w.fillZone(t, d)
	case "drop":
		out = w.dropRecords(t, d)
	case "delete":
		o := parseObject(t, d, d.CmdArgs[1].Key)
		var plan *law.Plan
		var refusal *law.Refusal
		switch d.CmdArgs[0].Key {
		case "zone":
			w.zones[o].annotated = d.HasArg("annotated")
			plan, refusal = w.tryDeleteZone(o)
		case "delegation":
			plan = w.deleteDelegation(o)
		default:
			plan = w.deleteRecord(o)
		}
		out = w.describeOutcome(plan, refusal)
	case "terminate":
		z := w.zones[parseObject(t, d, d.CmdArgs[1].Key)]
		z.annotated = d.HasArg("annotated")
		spec := z.spec
		spec.Terminating = true
		plan, refusal := w.putZone(spec, false)
		out = w.describeOutcome(plan, refusal)
	case "deleting":
		w.records[parseObject(t, d, d.CmdArgs[1].Key)].record.Terminating = true
	case "settle":
		out = w.describeSettled(t, d)
	case "clock":
		text := d.CmdArgs[0].Key
		if by, err := time.ParseDuration(strings.TrimPrefix(text, "+")); err == nil {
			w.now = w.now.Add(by)
		} else if w.now, err = time.Parse(time.RFC3339, text); err != nil {
			d.Fatalf(t, "%v", err)
		}
	case "overdue":
		out = w.endOverdue()
	case "floor":
		floor := &law.LastSerial{Serial: serial.Serial(parseNumber(t, d, d.CmdArgs[0].Key)), Left: serial.KeptSeconds}
		var jump string
		d.MaybeScanArgs(t, "jump", &jump)
		floor.Jump = parseNumber(t, d, jump)
		w.facts[law.FloorKey] = floor
	case "run":
		by, err := time.ParseDuration(d.CmdArgs[0].Key)
		failOn(t, d, err)
		out = w.describeChanges(func() { w.passTime(by) })
	case "show":
		out = w.showObject(t, d)
	default:
		d.Fatalf(t, "no such command: %s", d.Cmd)
	}
	if d.HasArg("settle") {
		for _, line := range w.checkAll() {
			t.Errorf("%s: %s", d.Pos, line)
		}
		out += w.describeSettled(t, d)
	}
	for _, line := range w.checkAll() {
		t.Errorf("%s: %s", d.Pos, line)
	}
	return out
}

func (w *world) describeSettled(t *testing.T, d *datadriven.TestData) string {
	out := w.describeChanges(w.settleAll)
	for o, r := range w.records {
		if r.record.IsExpired(w.now.Unix()) && r.placed.Reason != law.ReasonExpired {
			t.Errorf("%s: S15.1: record %s has expired, and is %s", d.Pos, o, r.placed.Reason)
		}
	}
	for _, line := range w.checkSettled() {
		t.Errorf("%s: %s", d.Pos, line)
	}
	return out
}

// failOn fails the test for an error, with the command's position.
func failOn(t *testing.T, d *datadriven.TestData, err error) {
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
}

// parseExpiry returns a time after or before now, such as 1h or -1h, or an absolute time, in Unix seconds.
func parseExpiry(t *testing.T, d *datadriven.TestData, text string, now time.Time) int64 {
	if by, err := time.ParseDuration(text); err == nil {
		return now.Add(by).Unix()
	}
	at, err := time.Parse(time.RFC3339, text)
	failOn(t, d, err)
	return at.Unix()
}

func parseNumber(t *testing.T, d *datadriven.TestData, text string) uint32 {
	n, err := strconv.ParseUint(text, 10, 32)
	failOn(t, d, err)
	return uint32(n)
}

func parseObject(t *testing.T, d *datadriven.TestData, text string) object {
	ns, n, ok := strings.Cut(text, "/")
	if !ok {
		d.Fatalf(t, "%q is no NS/NAME", text)
	}
	return object{ns, n}
}

func parseRef(t *testing.T, d *datadriven.TestData) *law.Ref {
	var text string
	d.MaybeScanArgs(t, "ref", &text)
	if text == "" {
		return nil
	}
	o := parseObject(t, d, text)
	return &law.Ref{Namespace: o.Namespace, Name: o.Name}
}

func parseZone(t *testing.T, d *datadriven.TestData) zones.ZoneSpec {
	o := parseObject(t, d, d.CmdArgs[0].Key)
	lines := strings.Split(d.Input, "\n")
	spec := zones.ZoneSpec{Ref: law.Ref{Namespace: o.Namespace, Name: o.Name}, DomainName: lines[0], ZoneRef: parseRef(t, d)}
	d.MaybeScanArgs(t, "view", &spec.View)
	spec.MaxDeletePercent = 30
	spec.Header = someHeader
	number := func(text string) uint32 { return parseNumber(t, d, text) }
	for _, line := range lines[1:] {
		f := strings.Fields(line)
		switch f[0] {
		case "ns":
			spec.Header.NameServers = append(spec.Header.NameServers, content.NameServer{Name: f[1], Addresses: f[2:]})
		case "allow", "zones":
			spec.Rules = append(spec.Rules, parseRule(t, d, f))
		case "percent":
			spec.MaxDeletePercent = int64(number(f[1]))
		case "publish":
			at := number(f[1])
			spec.Publish = &at
		case "limit":
			spec.RecordsPerNamespace = int64(number(f[1]))
		case "minttl":
			spec.MinTTL = int64(number(f[1]))
		case "minimum":
			m := number(f[1])
			spec.MinimumSerial = &m
		case "ttl":
			spec.Header.TTL = number(f[1])
		case "expire":
			spec.Header.Expire = number(f[1])
		case "contact":
			spec.Header.Contact = f[1]
		case "primary":
			spec.Header.PrimaryNameServer = f[1]
		case "class":
			spec.HasClass = true
		case "release":
			spec.ReleaseNow = f[1:]
		case "reverse":
			spec.Reverse = parseReverse(f[1:])
		case "grace":
			by, err := time.ParseDuration(f[1])
			failOn(t, d, err)
			spec.Grace = int64(by.Seconds())
		default:
			d.Fatalf(t, "no such line in a zone: %s", line)
		}
	}
	return spec
}

// parseReverse parses "forward other to team-a team-b all".
func parseReverse(words []string) *law.Reverse {
	r := &law.Reverse{}
	if i := len(words) - 1; words[i] == "all" {
		r.All, words = true, words[:i]
	}
	if i := slices.Index(words, "to"); i >= 0 {
		words, r.Namespaces = words[:i], words[i+1:]
	}
	r.Zones = words
	return r
}

func parseSigners(t *testing.T, d *datadriven.TestData) (ds []string) {
	for line := range strings.Lines(d.Input) {
		v, err := rdata.Parse(rdata.DS, strings.TrimSpace(line))
		failOn(t, d, err)
		ds = append(ds, v.Text)
	}
	slices.Sort(ds)
	return ds
}

func parseRule(t *testing.T, d *datadriven.TestData, f []string) rules.Rule {
	var r rules.Rule
	var types []rdata.Type
	shared := false
	for i, word := range f[2:] {
		if word == "to" {
			r.Namespaces = f[2+i+1:]
			break
		}
		if word == "shared" {
			shared = true
		} else if word == "ds" && f[0] == "zones" {
			r.DS = true
		} else if list, ok := strings.CutPrefix(word, "types="); ok {
			for _, text := range strings.Split(list, ",") {
				rt, err := rdata.ParseType(text)
				failOn(t, d, err)
				types = append(types, rt)
			}
		} else {
			d.Fatalf(t, "no such word in a rule: %s", word)
		}
	}
	for _, text := range strings.Split(f[1], ",") {
		p, err := pattern.Parse(text)
		failOn(t, d, err)
		if f[0] == "zones" {
			r.Zones = append(r.Zones, p)
		} else {
			r.Records = append(r.Records, rules.RecordRule{Pattern: p, Text: text, Types: types, Shared: shared})
		}
	}
	return r
}

func parseRecord(t *testing.T, d *datadriven.TestData, o object, input string) law.Record {
	r := law.Record{ZoneRef: parseRef(t, d)}
	if o == (object{}) {
		o = parseObject(t, d, d.CmdArgs[0].Key)
		d.MaybeScanArgs(t, "view", &r.View)
		r.WaitsOnConflict = d.HasArg("wait")
	}
	r.Namespace, r.Name = o.Namespace, o.Name
	for _, line := range strings.Split(input, "\n") {
		f := strings.Fields(line)
		r.DomainName = f[0]
		f = f[1:]
		if ttl, err := strconv.ParseUint(f[0], 10, 32); err == nil {
			seconds := uint32(ttl)
			r.TTL = &seconds
			f = f[1:]
		}
		var err error
		if r.Type, err = rdata.ParseType(f[0]); err != nil {
			d.Fatalf(t, "%v", err)
		}
		v, err := rdata.Parse(r.Type, strings.Join(f[1:], " "))
		failOn(t, d, err)
		if !slices.Contains(r.Values, v) {
			r.Values = append(r.Values, v)
		}
	}
	return r
}

func (w *world) putRecords(t *testing.T, d *datadriven.TestData) string {
	var out strings.Builder
	adopted, lines := 0, strings.Split(d.Input, "\n")
	var reasons []string
	waiting := map[string]string{}
	for _, line := range lines {
		text, ref, _ := strings.Cut(line, " ; ref=")
		who, rest, _ := strings.Cut(text, " ")
		o := parseObject(t, d, who)
		r := parseRecord(t, d, o, rest)
		if ref != "" {
			to := parseObject(t, d, ref)
			r.ZoneRef = &law.Ref{Namespace: to.Namespace, Name: to.Name}
		}
		w.now = w.now.Add(time.Second)
		switch plan, refusal := w.putRecord(r); {
		case refusal == nil && plan.Record.Zone == nil:
			if !slices.Contains(reasons, plan.Record.Reason) {
				reasons = append(reasons, plan.Record.Reason)
			}
			waiting[plan.Record.Reason] += " " + o.String()
		case refusal != nil:
			fmt.Fprintf(&out, "%s: %s", o, w.describeOutcome(nil, refusal))
		default:
			adopted++
			for _, warning := range plan.Warnings {
				fmt.Fprintf(&out, "%s: %s", o, warningLine(warning))
			}
		}
	}
	for _, reason := range reasons {
		fmt.Fprintf(&out, "stored, not adopted: %s:%s\n", reason, waiting[reason])
	}
	if adopted > 0 {
		fmt.Fprintf(&out, "adopted %d of %d\n", adopted, len(lines))
	}
	return out.String()
}

func (w *world) tryRecords(t *testing.T, d *datadriven.TestData) string {
	var out strings.Builder
	for _, line := range strings.Split(d.Input, "\n") {
		text, ref, _ := strings.Cut(line, " ; ref=")
		ns, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
		o := object{ns, "try"}
		r := parseRecord(t, d, o, rest)
		if ref != "" {
			to := parseObject(t, d, ref)
			r.ZoneRef = &law.Ref{Namespace: to.Namespace, Name: to.Name}
		}
		w.now = w.now.Add(time.Second)
		plan, refusal := w.putRecord(r)
		fmt.Fprintf(&out, "%s: %s", line, w.describeOutcome(plan, refusal))
		if plan != nil {
			w.deleteRecord(o)
		}
	}
	return out.String()
}

func (w *world) fillZone(t *testing.T, d *datadriven.TestData) string {
	count, err := strconv.Atoi(d.CmdArgs[2].Key)
	failOn(t, d, err)
	adopted := 0
	last := ""
	for i := 1; i <= count; i++ {
		w.quick = i > 1 && i < count
		n := strconv.Itoa(i)
		r := parseRecord(t, d, object{d.CmdArgs[0].Key, d.CmdArgs[1].Key + n}, strings.NewReplacer("%", n, "&", fmt.Sprintf("%03d",
			i)).Replace(d.Input))
		var expires string
		if d.MaybeScanArgs(t, "expires", &expires); expires != "" {
			r.ExpiresAt = parseExpiry(t, d, expires, w.now)
		}
		r.WaitsOnConflict = d.HasArg("wait")
		plan, refusal := w.putRecord(r)
		if plan != nil && plan.Record.Zone != nil {
			adopted++
		} else {
			last = w.describeOutcome(plan, refusal)
		}
	}
	return fmt.Sprintf("adopted %d of %d\n%s", adopted, count, last)
}

func (w *world) dropRecords(t *testing.T, d *datadriven.TestData) string {
	var every string
	d.MaybeScanArgs(t, "every", &every)
	by, err := time.ParseDuration(cmp.Or(every, "0s"))
	from, err1 := strconv.Atoi(d.CmdArgs[2].Key)
	to, err2 := strconv.Atoi(d.CmdArgs[3].Key)
	failOn(t, d, errors.Join(err, err1, err2))
	var out strings.Builder
	held := map[string]bool{}
	for i := from; i <= to; i++ {
		w.quick = i > from && i < to
		w.now = w.now.Add(by)
		o := object{d.CmdArgs[0].Key, d.CmdArgs[1].Key + strconv.Itoa(i)}
		if w.records[o] == nil {
			d.Fatalf(t, "no record %s", o)
		}
		plan := w.deleteRecord(o)
		if plan.Zone == nil {
			continue
		}
		h := plan.Zone.Holding.Held
		fqdn := plan.Zone.Zone.FQDN().String()
		if held[fqdn] != (h != nil) {
			if held[fqdn] = h != nil; plan.Zone.BeginsHold {
				fmt.Fprintf(&out, "%d: %s is held at serial %d, %s\n", i, fqdn, h.Serial, describeExcess(plan.Zone.Zone.ExcessOf(h)))
			}
		}
		if e := plan.Zone.YoungExcess; e != nil {
			fmt.Fprintf(&out, "%d: %s is not held, for what went is young: %s\n", i, fqdn, describeExcess(e))
		}
	}
	w.quick = false
	return out.String()
}

func describeExcess(e *law.Excess) string {
	var parts []string
	if e.ExceedsPercent() || !e.NameServers {
		parts = append(parts, fmt.Sprintf("%d of %d RRsets", e.Removed, e.RRsets))
	}
	if e.NameServers {
		parts = append(parts, "the last NS at the apex")
	}
	return strings.Join(parts, " and ")
}

var refusalKinds = map[law.RefusalKind]string{law.Forbidden: "403 Forbidden", law.Invalid: "422 Invalid",
	law.Duplicate: "422 Duplicate", law.Later: "429 Later"}

func (w *world) describeOutcome(plan *law.Plan, refusal *law.Refusal) string {
	var out strings.Builder
	if refusal != nil {
		fmt.Fprintf(&out, "%s %s", refusalKinds[refusal.Kind], refusal.Reason)
		if refusal.Field != "" {
			fmt.Fprintf(&out, " %s", refusal.Field)
		}
		fmt.Fprintf(&out, ": %s\n", refusal.Message)
		return out.String()
	}
	switch {
	case plan.Delegation != nil:
		fmt.Fprintf(&out, "%s: %s\n", plan.Delegation.Reason, plan.Delegation.Message)
	case plan.Record != nil && plan.Record.Zone != nil:
		fmt.Fprintf(&out, "adopted %s, serial %d, %s\n", plan.Record.FQDN, plan.Record.Serial, plan.Record.Message)
	case plan.Record != nil:
		fmt.Fprintf(&out, "stored, not adopted: %s: %s\n", plan.Record.Reason, plan.Record.Message)
	case plan.Zone != nil && plan.Zone.Removed:
		out.WriteString("gone\n")
	case plan.Zone != nil:
		z := w.zones[object{plan.Zone.Zone.Namespace, plan.Zone.Zone.Name}]
		out.WriteString(zoneLine(z))
	default:
		out.WriteString("gone\n")
	}
	for _, warning := range plan.Warnings {
		out.WriteString(warningLine(warning))
	}
	return out.String()
}

func warningLine(w law.Warning) string { return "warning: " + refusal.Warning(w.Rule, w.Text) + "\n" }

func zoneLine(z *zoneObject) string {
	if z.zone.Pending {
		return fmt.Sprintf("pending: %s: %s\n", z.delegated.Reason, z.delegated.Message)
	}
	return fmt.Sprintf("zone %s serial %d, Delegated=%s %s, Servable=%s %s\n", z.zone.FQDN(), z.zone.Serial, z.delegated.Status,
		z.delegated.Reason, z.servable.Status, z.servable.Reason)
}

func (w *world) describeChanges(do func()) string {
	state := func() map[string]string {
		lines := map[string]string{}
		for o, r := range w.records {
			lines["record "+o.String()] = describePlacement(&r.placed) + "\n"
		}
		for o, z := range w.zones {
			lines["zone "+o.String()] = zoneLine(z)
		}
		return lines
	}
	before := state()
	do()
	var out strings.Builder
	after := state()
	for _, k := range slices.Sorted(maps.Keys(after)) {
		if before[k] != after[k] {
			fmt.Fprintf(&out, "%s: %s", k, after[k])
		}
	}
	return out.String()
}

func (w *world) endOverdue() string {
	var out strings.Builder
	for _, k := range w.listHoldingKeys() {
		h := w.facts[k].(*law.Holding)
		if !h.BecomesOverdue(w.now.Unix()) {
			continue
		}
		place := law.Place{Ref: h.Ref, View: k.View, FQDN: k.Name}
		o := w.decideAll(func(s *law.Facts) law.Outcome { return zones.DecideOverdue(s, place, w.now.Unix()) })
		w.applyPlan(object{h.Namespace, h.Ref.Name}, true, o.Plan, nil)
		fmt.Fprintf(&out, "%s is delivered as it is\n", k.Name)
	}
	return out.String()
}

func (w *world) listHoldingKeys() []law.Key {
	var keys []law.Key
	for k := range w.facts {
		if k.Kind == law.KindHolding {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(x, y law.Key) int { return x.Name.Compare(y.Name) })
	return keys
}

func (w *world) showObject(t *testing.T, d *datadriven.TestData) string {
	var lines []string
	printf := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	var z *zoneObject
	var o object
	if len(d.CmdArgs) > 1 && d.CmdArgs[1].Key != "grep" {
		o = parseObject(t, d, d.CmdArgs[1].Key)
		z = w.zones[o]
	}
	if d.CmdArgs[0].Key == "notices" {
		for _, x := range w.notices {
			printf("%s: %s %s", cmp.Or(x.Namespace, "own"), x.Reason, x.Name)
		}
		w.notices = nil
		return strings.Join(append(lines, ""), "\n")
	}
	if z == nil && d.CmdArgs[0].Key != "record" && d.CmdArgs[0].Key != "waiting" {
		return "none\n"
	}
	switch d.CmdArgs[0].Key {
	case "record":
		if r := w.records[o]; r != nil {
			printf("%s", describePlacement(&r.placed))
		}
	case "zone":
		printf("%s", strings.TrimSuffix(zoneLine(z), "\n"))
		if z.delegated.Message != "" && z.delegated.Reason != law.ReasonStandalone {
			printf("  Delegated: %s", z.delegated.Message)
		}
		if !z.zone.Pending {
			printf("  Servable: %s", z.servable.Message)
			h := w.holdingOf(z.zone)
			printf("  settled %v, settled serial %d", h.Settled(), z.zone.SettledSerial)
			if h.Held != nil {
				printf("  held at serial %d: %s, %d %% may go", h.Held.Serial, describeExcess(z.zone.ExcessOf(h.Held)),
					z.zone.MaxDeletePercent)
			}
		}
	case "claims":
		for k, v := range w.facts {
			if o, ok := v.(*law.Owner); ok && k.Zone == z.zone.UID && len(o.Claims) > 0 {
				text := ""
				for _, c := range o.Claims {
					text += " " + describeClaim(c)
				}
				printf("%s:%s", k.Owner, text)
			}
		}
		slices.Sort(lines)
	case "members":
		for k := range w.facts {
			if k.Zone == z.zone.UID && k.Kind == law.KindMember {
				printf("%s %s/%s %s", k.Owner, k.Namespace, k.Object, w.records[object{k.Namespace, k.Object}].placed.Admission)
			}
		}
		slices.Sort(lines)
	case "entries":
		for e := range w.views[z.zone.UID].Entries() {
			printf("%s", strings.ReplaceAll(e.String(), "\t", " "))
		}
	case "journal":
		for _, s := range w.journal[z.zone.UID] {
			text := fmt.Sprintf("%d: %d -> %d", s.N, s.From, s.Serial)
			if s.HeaderAfter != nil {
				text += " header"
			}
			for _, r := range s.Removed {
				text += fmt.Sprintf(" -%s %s %s", r.Owner, r.Type, r.Data)
			}
			for _, r := range s.Added {
				text += fmt.Sprintf(" +%s %s %s", r.Owner, r.Type, r.Data)
			}
			for _, c := range s.TTLs {
				was, is := name.Name{}.String(), ""
				if c.Before != nil {
					was = c.Before.String()
				}
				if c.After != nil {
					is = c.After.String()
				}
				text += fmt.Sprintf(" ttl(%s %s: %s>%s)", c.Owner, c.Type, was, is)
			}
			printf("%s", text)
		}
	case "waiting":
		for k := range w.waiting {
			if k.fqdn.IsZero() {
				printf("%s for %s", k.object, k.ref)
			} else {
				printf("%s at %s", k.object, k.fqdn)
			}
		}
		slices.Sort(lines)
	default:
		d.Fatalf(t, "show what?")
	}
	var grep string
	d.MaybeScanArgs(t, "grep", &grep)
	lines = slices.DeleteFunc(lines, func(line string) bool { return !strings.Contains(line, grep) })
	if len(lines) == 0 {
		return "none\n"
	}
	return strings.Join(lines, "\n") + "\n"
}

// describeClaim formats a claim as "a(2 plain, 1 literal)".
func describeClaim(c law.Claim) string {
	var parts []string
	for _, x := range []struct {
		n    int
		kind string
	}{{c.Underscore, "underscore"}, {c.Shared, "shared"}, {c.Literal, "literal"}, {c.Plain, "plain"}} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.kind))
		}
	}
	return c.Namespace + "(" + strings.Join(parts, ", ") + ")"
}

// docs/situations.md gives examples of what happens in various situations. Each example runs here as a test, with the
// commands of TestScenarios and shortened answers.
func TestSituations(t *testing.T) {
	for _, s := range must.Get(situations.Read("../../../docs/situations.md"))(t) {
		t.Run(s.Number+" "+s.Title, func(t *testing.T) {
			w := newWorld()
			datadriven.RunTestFromString(t, s.Story, func(t *testing.T, d *datadriven.TestData) string {
				if d.Cmd == "show" {
					return w.showShort(t, d)
				}
				return situations.Shorten(d.Cmd, w.runCommand(t, d))
			})
		})
	}
}

func (w *world) showShort(t *testing.T, d *datadriven.TestData) string {
	switch o := parseObject(t, d, d.CmdArgs[1].Key); d.CmdArgs[0].Key {
	case "record":
		switch p := w.records[o].placed; {
		case p.Zone == nil:
			return "waits, reason " + p.Reason + "\n"
		case p.EndsAt != 0:
			return "in zone " + p.Zone.Namespace + "/" + p.Zone.Name + ", reason " + p.Reason + "\n"
		default:
			return "in zone " + p.Zone.Namespace + "/" + p.Zone.Name + "\n"
		}
	case "zone":
		z := w.zones[o]
		if z.zone.Pending {
			return "waits, reason " + z.delegated.Reason + "\n"
		}
		return "stays, reason " + z.delegated.Reason + "\n"
	case "ptr":
		var lines []string
		for e := range w.views[w.zones[o].zone.UID].Entries() {
			if e.Type == rdata.PTR {
				lines = append(lines, fmt.Sprintf("%s PTR %s\n", e.Name, e.Data))
			}
		}
		return cmp.Or(strings.Join(lines, ""), "none\n")
	}
	d.Fatalf(t, "show what?")
	return ""
}
