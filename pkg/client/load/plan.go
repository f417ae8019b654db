// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/zonefile"
)

type plan struct {
	fqdn  name.Name
	view  string
	spec  v1alpha1.ZoneSpec
	soa   Refusal // the line of the SOA, for refusals of the Zone's fields
	hasNS bool    // at the apex
	// hasPrimary is true if the file has an address of the host that its SOA names.
	hasPrimary bool
	sets       []*set
	refusals   []Refusal
	notes      []Refusal // lines read otherwise than written
	// replacedTimers are the fields that replaceTimer replaced.
	replacedTimers []string
	unread         int
}

type set struct {
	owner name.Rel
	typ   rdata.Type
	ttl   uint32
	data  []string
	lines []int
}

// Refusal tells why a line of a zone file, or an object, was not loaded.
type Refusal struct {
	// Path is the file. Lines are line numbers from 1, nil if the format has none.
	Path  string
	Lines []int
	// Text is the line or the name of the object.
	Text string
	// Fix is advice for the user, "" if the text in Reason includes advice.
	Reason, Fix string
	// final is true if neither a rule nor another object can lift the refusal.
	final bool
}

// where returns the file and its lines, as in "example.org.zone:3,4".
func (r Refusal) where() string {
	var b strings.Builder
	b.WriteString(r.Path)
	for i, line := range r.Lines {
		if i == maxLinesNamed {
			fmt.Fprintf(&b, " and %d more", len(r.Lines)-i)
			break
		}
		b.WriteString([]string{":", ","}[min(i, 1)] + strconv.Itoa(line))
	}
	return b.String()
}

func (r Refusal) String() string {
	var b strings.Builder
	b.WriteString(r.where() + ": ")
	if r.Text != "" {
		b.WriteString(shorten(r.Text) + ": ")
	}
	b.WriteString(r.Reason)
	if r.Fix != "" {
		b.WriteString("; " + r.Fix)
	}
	return b.String()
}

const (
	maxLinesNamed = 5
	maxTextShown  = 120
)

func shorten(text string) string {
	if len(text) <= maxTextShown {
		return text
	}
	return strings.ToValidUTF8(text[:maxTextShown], "") + "…"
}

var errNoSOA = errors.New("no SOA could be read, with which a zone file begins; is this a zone file?")

// delegateNumbers adds the types without a mnemonic to the rule, because a rule allows them only if listed.
func (p *plan) delegateNumbers(all []zonefile.RR) {
	var types []rdata.Type
	for _, row := range all {
		if row.Type.ByNumber() && row.Type.CheckRecord() == nil {
			types = append(types, row.Type)
		}
	}
	if len(types) == 0 {
		return
	}
	slices.Sort(types)
	var named []string
	for _, t := range slices.Compact(types) {
		named = append(named, t.String())
	}
	rule := &p.spec.Delegations[0]
	rule.Records = append(rule.Records, v1alpha1.RecordDelegation{Pattern: "@", Types: named}, v1alpha1.RecordDelegation{Pattern: "*",
		Types: named})
}

func (p *plan) readRows(path string, rows iter.Seq2[zonefile.RR, error]) (all []zonefile.RR, soa int, err error) {
	soa = -1
	for row, err := range rows {
		if err != nil {
			var line *zonefile.LineError
			if !errors.As(err, &line) {
				return nil, -1, err
			}
			p.unread++
			p.refuse(Refusal{Path: path, Lines: []int{line.Line}, Text: line.Text, Reason: line.Reason, Fix: line.Fix})
			continue
		}
		if row.Type == rdata.SOA && soa < 0 {
			soa = len(all)
		}
		if row.Note != "" {
			p.addNote(path, row.Line, row.Note)
		}
		all = append(all, row)
	}
	return all, soa, nil
}

// addNote collects the lines with the same note, because an exporter's habit concerns many.
func (p *plan) addNote(path string, line int, text string) {
	i := slices.IndexFunc(p.notes, func(r Refusal) bool { return r.Reason == text })
	if i < 0 {
		i = len(p.notes)
		p.notes = append(p.notes, Refusal{Path: path, Reason: text})
	}
	p.notes[i].Lines = append(p.notes[i].Lines, line)
}

func (p *plan) refuse(r Refusal) { p.refusals = append(p.refusals, r) }

func (p *plan) noSOA() error {
	if len(p.refusals) > 0 {
		return fmt.Errorf("%w (the first of %d lines refused: %s)", errNoSOA, len(p.refusals), p.refusals[0])
	}
	return errNoSOA
}

func (p *plan) takeSOA(path string, all []zonefile.RR, at int, namespace string) error {
	soa := all[at]
	isInZone := func(row zonefile.RR) bool { return row.Line != soa.Line && soa.Name.Encloses(row.Name) }
	if len(all) > 1 && !slices.ContainsFunc(all, isInZone) {
		return fmt.Errorf("line %d: the SOA is of zone %s, and no other record is in it; %s", soa.Line, soa.Name, howToSayOrigin)
	}
	spec, err := zoneSpec(soa, namespace, func(r Refusal) {
		r.Path = path
		p.refuse(r)
	})
	if err != nil {
		return fmt.Errorf("line %d: %w", soa.Line, err)
	}
	spec.View = p.view
	p.fqdn, p.spec, p.soa = soa.Name, spec, Refusal{Path: path, Lines: []int{soa.Line}, Text: soa.Name.String() + " SOA " + soa.Data}
	p.hasNS = slices.ContainsFunc(all, func(row zonefile.RR) bool { return row.Type == rdata.NS && row.Name == p.fqdn })
	primary, err := name.Parse(spec.PrimaryNameServer)
	p.hasPrimary = err == nil && slices.ContainsFunc(all, func(row zonefile.RR) bool {
		return row.Name == primary && (row.Type == rdata.A || row.Type == rdata.AAAA)
	})
	p.delegateNumbers(all)
	return nil
}

const serverDefault = "loaded with what the server makes"

// dropRefused replaces fields of a new Zone that the server refused, because a bad field of the file's SOA must not
// block the records. It returns false if nothing is left to replace. Of the timers, it replaces the first that is
// refused: because of a retry of 7200 beside a refresh of 3600 the server refuses a right expire, too.
func (p *plan) dropRefused(err error) (dropped bool) {
	if !apierrors.IsInvalid(err) {
		return false
	}
	spec := &p.spec
	timerDropped := false
	for _, cause := range refusal.Of(err) {
		fix := serverDefault
		switch {
		case cause.Field == "spec.primaryNameServer" && spec.PrimaryNameServer != "":
			spec.PrimaryNameServer = ""
		case cause.Field == "spec.contact" && spec.Contact != "":
			spec.Contact = ""
		case timersOf(spec)[cause.Field] != nil && !timerDropped:
			if fix = p.replaceTimer(cause.Field); fix == "" {
				continue
			}
			timerDropped = true
		default:
			continue
		}
		fault := p.soa
		fault.Reason, fault.Fix = cause.String(), fix
		p.refuse(fault)
		dropped = true
	}
	return dropped
}

// replaceTimer replaces a refused timer: a retry by one below the refresh, another by the server's default. If the
// replacement is refused again, all three get the server's defaults. It returns the replacement for the user, or "".
func (p *plan) replaceTimer(field string) string {
	spec := &p.spec
	isRepeated := slices.Contains(p.replacedTimers, field)
	p.replacedTimers = append(p.replacedTimers, field)
	isGiven := spec.Refresh != nil || spec.Retry != nil || spec.Expire != nil
	refresh := ptr.Deref(spec.Refresh, v1alpha1.DefaultRefresh)
	switch {
	case isRepeated && !isGiven:
		return ""
	case isRepeated:
		spec.Refresh, spec.Retry, spec.Expire = nil, nil, nil
		return "refresh, retry and expire are loaded with what the server makes"
	case field == "spec.retry" && refresh > 1:
		spec.Retry = ptr.To(min(v1alpha1.DefaultRetry, refresh/2))
		return fmt.Sprintf("loaded with %d", *spec.Retry)
	}
	*timersOf(spec)[field] = nil
	return serverDefault
}

// timersOf returns the SOA timers of a spec, by the field that a refusal names.
func timersOf(spec *v1alpha1.ZoneSpec) map[string]**int32 {
	return map[string]**int32{"spec.refresh": &spec.Refresh, "spec.retry": &spec.Retry, "spec.expire": &spec.Expire}
}

func (p *plan) groupRRsets(path string, all []zonefile.RR, soa int) {
	type key struct {
		owner name.Rel
		typ   rdata.Type
	}
	type value struct {
		key
		data string
	}
	byKey := make(map[key]*set)
	seen := make(map[value]bool)
	for i, row := range all {
		text := row.Name.String() + " " + row.Type.String() + " " + row.Data
		at := Refusal{Path: path, Lines: []int{row.Line}, Text: text}
		owner, inside := row.Name.Rel(p.fqdn)
		switch {
		case i == soa:
			continue
		case row.Type == rdata.SOA && soa >= 0 && row.Data == all[soa].Data && row.Name == p.fqdn:
			continue // a transfer ends with its first SOA (RFC 5936 §2.2)
		case row.Type == rdata.SOA:
			at.Reason, at.Fix = "a second SOA: a zone has one", "put the other zone into a file of its own"
			p.refuse(at)
			continue
		case !inside:
			at.Reason, at.Fix = fmt.Sprintf("out of zone: the file is of zone %s", p.fqdn), "put it into the file of its own zone"
			p.refuse(at)
			continue
		}
		if err := row.Type.CheckRecord(); err != nil {
			at.Reason = err.Error()
			p.refuse(at)
			continue
		}
		have := byKey[key{owner, row.Type}]
		if have == nil {
			have = &set{owner: owner, typ: row.Type, ttl: row.TTL}
			byKey[key{owner, row.Type}] = have
			p.sets = append(p.sets, have)
		}
		// An object has a single TTL, and the smallest of an RRset would be served.
		have.ttl = min(have.ttl, row.TTL)
		if v := (value{key{owner, row.Type}, row.Data}); !seen[v] {
			seen[v] = true
			have.data = append(have.data, row.Data)
		}
		have.lines = append(have.lines, row.Line)
	}
}

// zoneSpec returns the spec of a new Zone from the SOA of a zone file, with a rule for Records of namespace at every
// name. It replaces values that the API would refuse, and reports them.
func zoneSpec(soa zonefile.RR, namespace string, refuse func(Refusal)) (v1alpha1.ZoneSpec, error) {
	fields := strings.Fields(soa.Data)
	if len(fields) != 7 {
		return v1alpha1.ZoneSpec{}, fmt.Errorf("SOA %q: seven fields are needed (RFC 1035 §3.3.13): primary name server, contact, "+
			"serial, refresh, retry, expire, minimum", soa.Data)
	}
	var numbers [5]uint32
	for i, field := range fields[2:] {
		n, err := strconv.ParseUint(field, 10, 32)
		if err != nil {
			return v1alpha1.ZoneSpec{}, fmt.Errorf("SOA %q: %q is not a number of 32 bits", soa.Data, field)
		}
		numbers[i] = uint32(n)
	}

	// Only the serial may have 32 bits.
	replaced := func(reason, fix string) {
		refuse(Refusal{Lines: []int{soa.Line}, Text: soa.Name.String() + " SOA " + soa.Data, Reason: reason, Fix: fix})
	}
	for i, what := range []string{"refresh", "retry", "expire", "minimum"} {
		if n := numbers[i+1]; n > math.MaxInt32 {
			replaced(fmt.Sprintf("%s %d is above %d", what, n, math.MaxInt32), fmt.Sprintf("loaded with %d", math.MaxInt32))
			numbers[i+1] = math.MaxInt32
		}
	}

	serial, refresh, retry, expire, minimum := numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
	spec := v1alpha1.ZoneSpec{
		DomainName:            soa.Name.String(),
		TTL:                   ptr.To(int32(soa.TTL)),
		Refresh:               ptr.To(int32(refresh)),
		Retry:                 ptr.To(int32(retry)),
		Expire:                ptr.To(int32(expire)),
		NegativeResponseCache: ptr.To(int32(minimum)),
		Delegations: []v1alpha1.DelegationRule{{
			Namespace: namespace,
			Records:   []v1alpha1.RecordDelegation{{Pattern: "@"}, {Pattern: "*"}},
		}},
	}
	if serial > 0 {
		spec.MinimumSerial = ptr.To(int64(serial))
	}

	// The name "." means that there is no server or contact. An empty field gets the server's default.
	if spec.PrimaryNameServer = fields[0]; fields[0] == "." {
		spec.PrimaryNameServer = ""
		replaced("the primary name server . names none", "loaded with what the server makes: the first name server of the zone")
	}
	if spec.Contact = contactOf(fields[1]); fields[1] == "." {
		spec.Contact = ""
		replaced("the contact . names none", "loaded with what the server makes: hostmaster in the zone")
	}
	return spec, nil
}

// contactOf changes an SOA's RNAME only if its local part has a dot: `john\.doe.example.org.` becomes
// john.doe@example.org.
func contactOf(rname string) string {
	for i := 0; i < len(rname); i++ {
		switch rname[i] {
		case '\\':
			i++
		case '.':
			local, domain := rname[:i], rname[i+1:]
			if strings.Contains(local, `\.`) && domain != "" {
				return strings.ReplaceAll(local, `\.`, ".") + "@" + strings.TrimSuffix(domain, ".")
			}
			return rname
		}
	}
	return rname
}

type destination struct {
	zone types.NamespacedName
	fqdn name.Name
	// ttl is the zone's TTL. If nil, every record gets its own.
	ttl       *int32
	namespace string
}

func (d *destination) zoneRef() *v1alpha1.ZoneReference {
	if d.namespace == d.zone.Namespace {
		return &v1alpha1.ZoneReference{Name: d.zone.Name}
	}
	return &v1alpha1.ZoneReference{Name: d.zone.Name, Namespace: d.zone.Namespace}
}

func (d *destination) newRecord(s *set) *v1alpha1.Record {
	r := &v1alpha1.Record{}
	r.Namespace = d.namespace
	r.Spec = v1alpha1.RecordSpec{
		// Relative, so that records follow a Zone recreated with another name.
		DomainName: s.owner.String(),
		ZoneRef:    d.zoneRef(),
		Type:       s.typ.String(),
		Class:      v1alpha1.ClassIN,
	}
	if len(s.data) == 1 {
		r.Spec.RData = s.data[0]
	} else {
		r.Spec.Values = s.data
	}
	if d.ttl == nil || s.ttl != uint32(*d.ttl) {
		r.Spec.TTL = ptr.To(int32(s.ttl))
	}
	return r
}

func (s *set) fqdn(origin name.Name) string {
	fqdn, err := s.owner.In(origin)
	if err != nil {
		return s.owner.String()
	}
	return fqdn.String()
}

func (s *set) describe(origin name.Name) string { return s.fqdn(origin) + " " + s.typ.String() }
