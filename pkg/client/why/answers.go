// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/reasons"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/rdata"
	"kubi.zone/kubizone/pkg/dns/serial"
)

func (j *judgement) judgeServers() {
	z := j.Zone
	if z.ClassesLack != "" {
		j.add(KindServer, "", NotAsked, "the servers of a class are shown to those with the right to %s", z.ClassesLack)
	}
	if len(z.Servers) == 0 && z.ClassesLack == "" {
		j.add(KindServer, "", NotAsked, "no class shows its servers, and without --resolver the zone's NS names are not asked")
	}
	for n, server := range z.Servers {
		if n == maxLinks {
			j.add(KindServer, "", NotAsked, "%d more servers are left out", len(z.Servers)-n)
			return
		}
		answer := notAsked(&server)
		if n < len(j.Answers) {
			answer = j.Answers[n]
		}
		j.judgeServer(server, &answer)
	}
}

func (j *judgement) neededSerial() int64 {
	switch {
	case j.Record != nil:
		return j.Record.Status.Serial
	case j.Zone.Object != nil:
		return j.Zone.Object.Status.SettledSerial
	}
	return 0
}

func (j *judgement) judgeServer(s Server, a *ServerAnswer) {
	switch {
	case a.Err != "":
		j.judgeSilent(s, a)
	case !a.Authoritative && len(a.Data) == 0:
		j.judgeElsewhere(s, a)
	case j.Absent != nil:
		j.add(KindServer, s.Of, Unknown, "answers %s", a.describe())
	case j.Type == rdata.SOA: // of a zone, since no Record has this type
		j.judgeServed(s, a)
	default:
		j.judgeData(s, a)
	}
}

// judgeElsewhere judges an answer of a server that has no authority for the name: a referral to the child zone
// dev.example.org., or REFUSED.
func (j *judgement) judgeElsewhere(s Server, a *ServerAnswer) {
	if a.Referral != "" {
		j.add(KindServer, s.Of, Unknown, "refers to the servers of %s", a.Referral)
		return
	}
	state := j.judgeView(Fails)
	if s.Row != nil && s.Row.State == v1alpha1.ServerCurrent {
		state = Unknown // the controller sees the zone there, so the server may serve other clients
	}
	j.add(KindServer, s.Of, state, "answers %s, without authority: no zone %s for this machine", a.RCode, j.Zone.FQDN).
		setStepIfBad(reasons.Platform, "have the server serve the zone")
}

func (l *Link) setStepIfBad(role reasons.Role, step string) {
	if l.State.IsBad() {
		l.Mends, l.Step = role, step
	}
}

// A server may answer this machine from another view.
func (j *judgement) judgeView(state State) State {
	if j.Zone.View != "" {
		return Unknown
	}
	return state
}

func (a *ServerAnswer) describe() string {
	switch {
	case a.Alias != "":
		return "CNAME " + shorten(a.Alias, maxData)
	case len(a.Data) > 0:
		return shorten(strings.Join(a.Data, ", "), maxData)
	case a.RCode == "NOERROR":
		return "without such data"
	}
	return a.RCode
}

const addressUnknown = "not asked, since its address is unknown"

func notAsked(s *Server) ServerAnswer {
	// A known address, without a name to ask for.
	if s.Address != "" {
		return ServerAnswer{Err: "not asked"}
	}
	return ServerAnswer{Err: cmp.Or(s.NoAddress, "not asked")}
}

func (j *judgement) judgeSilent(s Server, a *ServerAnswer) {
	switch {
	case s.Row != nil:
		j.judgeRow(s, a.Asked, a.Err)
	case a.Asked:
		j.add(KindServer, s.Of, Fails, "%s", a.Err).setStepIfBad(reasons.Platform, "check the server, and the way to it from here")
	default:
		j.add(KindServer, s.Of, NotAsked, "%s", a.Err)
	}
}

// judgeRow judges a server that is silent to this machine by its row in the Delivery: the controller asks, too.
func (j *judgement) judgeRow(s Server, asked bool, text string) {
	needed, has := serial.Serial(j.neededSerial()), serial.Serial(s.Row.Serial)
	switch {
	case s.Row.State == v1alpha1.ServerFailed:
		j.add(KindServer, s.Of, Fails, "%s; to the controller: %s", text, s.Row.Message).explain("ServerUnreachable", reasons.OfReady)
	case has == 0 || needed.Ahead(has):
		j.addOlder(s, has, Waits, fmt.Sprintf("%s; the controller had serial %d from it, not %d yet", text, has, needed))
	case asked:
		j.add(KindServer, s.Of, Unknown, "no answer to this machine: %s; the controller had serial %d from it", text, has)
	default:
		j.add(KindServer, s.Of, OK, "%s; the controller had serial %d from it", text, has)
	}
}

func (j *judgement) addOlder(s Server, has serial.Serial, state State, text string) {
	if has == 0 || s.OwnSerial || !serial.Serial(s.ConfirmedSerial).Ahead(has) {
		j.add(KindServer, s.Of, state, "%s", text).explain(v1alpha1.ReasonPending, reasons.OfReady)
		return
	}
	if state == Waits {
		state = Fails
	}
	j.add(KindServer, s.Of, state, "it went back: serial %d was confirmed there; %s", s.ConfirmedSerial, text).
		explain(v1alpha1.ReasonServerWentBack, reasons.OfReady)
}

func (j *judgement) judgeServed(s Server, a *ServerAnswer) {
	want := serial.Serial(j.neededSerial())
	switch {
	case !a.HasSOA:
		j.add(KindServer, s.Of, j.judgeView(Fails), "answers %s, without the zone's SOA", a.RCode).
			setStepIfBad(reasons.Platform, "have the server serve the zone")
	case s.OwnSerial || a.Serial == want:
		j.add(KindServer, s.Of, OK, "serves the zone at serial %d", a.Serial)
	case want.Ahead(a.Serial):
		j.addOlder(s, a.Serial, j.judgeView(Waits), fmt.Sprintf("serves serial %d, not %d yet", a.Serial, want))
	default:
		j.add(KindServer, s.Of, j.judgeView(Fails), "serves serial %d, ahead of %d", a.Serial, want).
			explain(v1alpha1.ReasonSerialBehind, reasons.OfReady)
	}
}

// judgeData compares an answer with the Record's data. A server with other data may only be late: then its serial is
// older, or the class before it waits.
func (j *judgement) judgeData(s Server, a *ServerAnswer) {
	needed, served := serial.Serial(j.neededSerial()), serial.Serial(0) // 0 if its serials are not the zone's
	text := "answers " + a.describe()
	if a.HasSOA && !s.OwnSerial {
		served = a.Serial
		text += " at serial " + served.String()
	}
	late := fmt.Sprintf("%s; the zone has it at serial %d", text, needed)
	switch {
	case len(j.ExpectedData) == 0 && len(a.Data) > 0:
		j.add(KindServer, s.Of, Unknown, "%s; the Record's data cannot be compared", text)
	case j.expects(a.Data):
		j.add(KindServer, s.Of, OK, "%s", text)
	case served != 0 && needed.Ahead(served):
		j.addOlder(s, served, j.judgeView(Waits), late)
	case firstBad(j.linksBefore(KindServer)) != nil:
		j.add(KindServer, s.Of, j.judgeView(Waits), "%s", late).explain(v1alpha1.ReasonPending, reasons.OfReady)
	default:
		j.add(KindServer, s.Of, j.judgeView(Fails), "%s, and the zone has %s", text, listed(j.ExpectedData)).
			explain(v1alpha1.ReasonContentDiffers, reasons.OfReady)
	}
}

// expects reports whether data has the expected values and, if these are all of the RRset, no others.
func (f *Facts) expects(data []string) bool {
	isWhole := len(data) > 0 && len(subtract(f.ExpectedData, data)) == 0
	return isWhole && !(f.Exact && len(subtract(data, f.ExpectedData)) > 0)
}

func (j *judgement) linksBefore(kind Kind) []Link {
	if n := slices.IndexFunc(j.links, func(l Link) bool { return l.Kind == kind }); n >= 0 {
		return j.links[:n]
	}
	return j.links
}

func subtract(all, without []string) (rest []string) {
	for _, one := range all {
		if !slices.Contains(without, one) {
			rest = append(rest, one)
		}
	}
	return rest
}

func (j *judgement) judgeParents() {
	for n := range j.Zone.Parents {
		p := &j.Zone.Parents[n]
		if p.Zone == name.Root {
			return
		}
		j.judgeParent(p)
	}
}

// outcome is the outcome of a check of a delegation. The zero value is none: the next check decides.
type outcome struct {
	state      State
	text, step string
}

// judgeParent judges first if the zone above answered at all, then its NS, then its DS: without an NS, no DS counts.
func (j *judgement) judgeParent(p *ParentFacts) {
	of := "of " + cmp.Or(p.Zone.String(), "the zone")
	if !p.ParentName.IsZero() {
		of = p.ParentName.String()
	}
	found := cmp.Or(p.judgeAnswer(), j.judgeNS(p), j.judgeDS(p),
		outcome{OK, fmt.Sprintf("delegates %s to %s%s", p.Zone, listed(p.NS), describeDS(p)), ""})
	j.add(KindParent, of, found.state, "%s", found.text).setStepIfBad(reasons.ZoneOwner, found.step)
}

func (p *ParentFacts) judgeAnswer() outcome {
	text := cmp.Or(p.Err, "not asked: no resolver, which --resolver names")
	switch {
	case p.Err != "" && p.Resolved:
		return outcome{OK, fmt.Sprintf("not found (%s), but the resolver %s reaches the zone", p.Err, p.Resolver), ""}
	case !p.Asked && p.Lack != "":
		return outcome{NotAsked, text + "; the right to " + p.Lack + " shows the Zone", ""}
	case !p.Asked:
		return outcome{NotAsked, text, ""}
	case p.Err != "":
		return outcome{Unknown, p.Err, ""}
	}
	return outcome{}
}

func (j *judgement) judgeNS(p *ParentFacts) outcome {
	step := "have the registrar, or the operator of the zone above, enter the zone's NS"
	if p.Ours {
		step = "give the zone name servers, with addresses of those in it"
	}
	switch {
	case len(p.NS) == 0 && p.Resolved:
		return outcome{OK, fmt.Sprintf("lists no NS of %s, but the resolver %s reaches the zone", p.Zone, p.Resolver), ""}
	case len(p.NS) == 0:
		return outcome{j.judgeView(Fails), fmt.Sprintf("lists no NS of %s: resolvers do not find the zone", p.Zone), step}
	case areDisjoint(p.NS, p.WantNS):
		text := fmt.Sprintf("delegates %s to %s (lame), and the zone has %s", p.Zone, listed(p.NS), listed(p.WantNS))
		return outcome{j.judgeView(Fails), text, step}
	}
	return outcome{}
}

func (j *judgement) judgeDS(p *ParentFacts) outcome {
	const enter = "have the DS of status.dnssec.ds entered"
	switch {
	case len(p.DS) > 0 && p.Keyless:
		text := fmt.Sprintf("has DS %s, and the zone has no DNSKEY: validating resolvers refuse it", listed(p.DS))
		return outcome{j.judgeView(Fails), text, "have the DS removed, or the zone signed"}
	case areDisjoint(p.DS, p.WantDS):
		text := fmt.Sprintf("has DS %s, and the zone has the keys %s: validating resolvers refuse it", listed(p.DS), listed(p.WantDS))
		return outcome{Fails, text, enter}
	case len(p.DS) == 0 && len(p.WantDS) > 0 && p.Phase == v1alpha1.DNSSECSigned:
		text := fmt.Sprintf("delegates %s to %s, without a DS: the zone is signed and not validated", p.Zone, listed(p.NS))
		return outcome{Waits, text, enter}
	}
	return outcome{}
}

// areDisjoint reports whether both sets are known, and have no element in common.
func areDisjoint(got, want []string) bool {
	return len(got) > 0 && len(want) > 0 && len(subtract(got, want)) == len(got)
}

func listed(all []string) string { return shorten(strings.Join(all, ", "), maxData) }

func describeDS(p *ParentFacts) string {
	rest := subtract(p.NS, p.WantNS)
	text := ""
	if len(p.WantNS) > 0 && len(rest)+len(subtract(p.WantNS, p.NS)) > 0 {
		text = "; the zone itself has " + listed(p.WantNS)
	}
	if len(p.DS) > 0 {
		text += ", with DS " + listed(p.DS)
	}
	return text
}
