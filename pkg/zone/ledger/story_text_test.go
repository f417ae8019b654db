// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/storage"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/law"
	"kubi.zone/kubizone/pkg/zone/law/content"
	"kubi.zone/kubizone/pkg/zone/ledger/layout"
	"kubi.zone/kubizone/test/store"
)

func describePending(n int) string {
	if n == 0 {
		return "nothing owed"
	}
	return fmt.Sprintf("%d owed", n)
}

func (w *world) describePlaces(t *testing.T) string {
	for _, a := range w.servers {
		var texts []string
		for _, r := range a.ListRecords("") {
			zone := "no zone (" + reasonOf(&r) + ")"
			if r.Status.ZoneRef != nil {
				zone = r.Status.ZoneRef.Name
			}
			texts = append(texts, fmt.Sprintf("%s in %s", r.Name, zone))
		}
		for _, at := range slices.Sorted(maps.Keys(w.zones)) {
			ns, name, _ := strings.Cut(at, "/")
			if z := (&v1alpha1.Zone{}); a.Zones.Get(a.Ctx, store.Key("zones", ns, name), storage.GetOptions{}, z) == nil {
				texts = append(texts, fmt.Sprintf("%s %d", name, z.Status.EntryCount))
			}
		}
		return strings.Join(texts, ", ")
	}
	t.Fatal("no server")
	return ""
}

var uids = regexp.MustCompile(`kubi.zone/delete=[0-9a-f-]{36}`)

func describeError(err error) string {
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status):
		s := status.Status()
		return fmt.Sprintf("%d %s: %s\n", s.Code, s.Reason, uids.ReplaceAllString(s.Message, "kubi.zone/delete=UID"))
	case storage.IsExist(err):
		return "409 AlreadyExists\n"
	case storage.IsNotFound(err):
		return "404 NotFound\n"
	case storage.IsConflict(err):
		return "409 Conflict\n"
	}
	return fmt.Sprintf("error: %v\n", err)
}

func answerOf(r *v1alpha1.Record, err error) string {
	if err != nil {
		return describeError(err)
	}
	return recordText(r) + "\n"
}

func recordText(r *v1alpha1.Record) string {
	if ref := r.Status.ZoneRef; ref != nil {
		return fmt.Sprintf("%s in %s/%s, serial %d", r.Status.FQDN, ref.Namespace, ref.Name, r.Status.Serial)
	}
	text := "in no zone"
	if c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionAdopted); c != nil {
		text += ": " + c.Reason + ": " + c.Message
	}
	return text
}

func zoneText(z *v1alpha1.Zone) string {
	if z.Status.FQDN == "" {
		text := "pending"
		if c := meta.FindStatusCondition(z.Status.Conditions, v1alpha1.ConditionDelegated); c != nil {
			text += ": " + c.Reason + ": " + c.Message
		}
		return text
	}
	text := fmt.Sprintf("%s serial %d, %d entries", z.Status.FQDN, z.Status.Serial, z.Status.EntryCount)
	if c := meta.FindStatusCondition(z.Status.Conditions, v1alpha1.ConditionDelegated); c != nil && c.Reason == law.ReasonParentRenamed {
		text += ", " + c.Reason
	}
	if dnssec := z.Status.DNSSEC; dnssec != nil {
		text += fmt.Sprintf(", %d DS", len(dnssec.DS))
	}
	switch z.Status.SettledSerial {
	case z.Status.Serial:
	case 0:
		text += ", not settled"
	default:
		text += fmt.Sprintf(", serial %d is delivered", z.Status.SettledSerial)
	}
	return text
}

func delegationText(d *v1alpha1.Delegation) string {
	text := describeAccepted(d)
	if ref := d.Status.ZoneRef; ref != nil {
		text += " by " + ref.Name
	}
	return text
}

// describeEarlier adds a note if the zone of that name is now another object.
func (w *world) describeEarlier(s *actor, ref *v1alpha1.AdoptingZone) string {
	if ref == nil {
		return ""
	}
	z := &v1alpha1.Zone{}
	if s.Zones.Get(s.Ctx, store.Key("zones", ref.Namespace, ref.Name), storage.GetOptions{}, z) == nil && z.UID == ref.UID {
		return ""
	}
	return ", which is gone"
}

func (w *world) objectMeta(o *metav1.ObjectMeta) {
	o.CreationTimestamp = metav1.NewTime(time.Unix(w.now.Load(), 0).UTC())
}

func (w *world) readReference(t *testing.T, d *datadriven.TestData) *v1alpha1.ZoneReference {
	var text string
	if d.MaybeScanArgs(t, "ref", &text); text == "" {
		return nil
	}
	return refTo(text)
}

func refTo(text string) *v1alpha1.ZoneReference {
	ns, name, _ := strings.Cut(text, "/")
	return &v1alpha1.ZoneReference{Namespace: ns, Name: name}
}

func (w *world) zoneOf(t *testing.T, d *datadriven.TestData, ns, name string) *v1alpha1.Zone {
	lines := strings.Split(d.Input, "\n")
	z := store.Zone(ns, name, lines[0])
	w.objectMeta(&z.ObjectMeta)
	z.Spec.ZoneRef = w.readReference(t, d)
	hosts := 0
	for _, text := range lines[1:] {
		switch f := strings.Fields(text); f[0] {
		case "ns":
			if hosts++; hosts == 1 {
				z.Spec.NameServers = nil
			}
			z.Spec.NameServers = append(z.Spec.NameServers, v1alpha1.NameServer{Name: f[1], Addresses: f[2:]})
		case "ttl":
			ttl, err := strconv.ParseInt(f[1], 10, 32)
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			z.Spec.TTL = new(int32(ttl))
		case "reverse":
			z.Spec.Reverse = parseReverse(f[1:])
		case "grace":
			by, err := time.ParseDuration(f[1])
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			z.Spec.WithdrawalGracePeriod = &metav1.Duration{Duration: by}
		case "allow", "zones":
			z.Spec.Delegations = append(z.Spec.Delegations, ruleOf(t, d, f))
		case "release":
			z.Annotations = map[string]string{v1alpha1.AnnotationReleaseNow: strings.Join(f[1:], ",")}
		default:
			d.Fatalf(t, "no such line in a zone: %s", text)
		}
	}
	return z
}

// parseReverse parses "forward other to team-a team-b all".
func parseReverse(words []string) *v1alpha1.ZoneReverse {
	r := &v1alpha1.ZoneReverse{}
	if i := len(words) - 1; words[i] == "all" {
		r.All, words = true, words[:i]
	}
	if i := slices.Index(words, "to"); i >= 0 {
		words, r.Namespaces = words[:i], words[i+1:]
	}
	r.Zones = words
	return r
}

func signersOf(t *testing.T, d *datadriven.TestData) (list []v1alpha1.DelegationSigner) {
	for line := range strings.Lines(d.Input) {
		var ds v1alpha1.DelegationSigner
		if _, err := fmt.Sscan(line, &ds.KeyTag, &ds.Algorithm, &ds.DigestType, &ds.Digest); err != nil {
			d.Fatalf(t, "%v", err)
		}
		list = append(list, ds)
	}
	return list
}

func ruleOf(t *testing.T, d *datadriven.TestData, f []string) (rule v1alpha1.DelegationRule) {
	var types []string
	shared := false
	for i, word := range f[2:] {
		if word == "to" {
			if rule.Namespaces = f[2+i+1:]; len(rule.Namespaces) == 1 {
				rule.Namespace, rule.Namespaces = rule.Namespaces[0], nil
			}
			break
		}
		if word == "shared" {
			shared = true
		} else if word == "ds" {
			rule.DS = true
		} else if list, ok := strings.CutPrefix(word, "types="); ok {
			types = strings.Split(list, ",")
		} else {
			d.Fatalf(t, "no such word in a rule: %s", word)
		}
	}
	for _, pattern := range strings.Split(f[1], ",") {
		if f[0] == "zones" {
			rule.Zones = append(rule.Zones, pattern)
		} else {
			rule.Records = append(rule.Records, v1alpha1.RecordDelegation{Pattern: pattern, Types: types, Shared: shared})
		}
	}
	return rule
}

func (w *world) delegationOf(t *testing.T, d *datadriven.TestData, ns, name string) *v1alpha1.Delegation {
	o := store.Delegation(ns, name, d.CmdArgs[2].Key, nil)
	w.objectMeta(&o.ObjectMeta)
	for _, text := range strings.Split(d.Input, "\n") {
		if names, ok := strings.CutPrefix(text, "release "); ok {
			o.Annotations = map[string]string{v1alpha1.AnnotationReleaseNow: strings.ReplaceAll(names, " ", ",")}
			continue
		}
		f := strings.Fields(text)
		if to := slices.Index(f, "to"); to > 0 && o.Spec.Namespaces == nil {
			o.Spec.Namespaces = f[to+1:]
		}
		r := ruleOf(t, d, f)
		o.Spec.Records, o.Spec.Zones, o.Spec.DS = append(o.Spec.Records, r.Records...), append(o.Spec.Zones, r.Zones...), o.Spec.DS || r.DS
	}
	return o
}

func (w *world) recordOf(t *testing.T, d *datadriven.TestData, ns, name, input string) *v1alpha1.Record {
	var r *v1alpha1.Record
	for _, text := range strings.Split(input, "\n") {
		f := strings.Fields(text)
		if len(f) < 3 {
			d.Fatalf(t, "%q is no NAME TYPE RDATA", text)
		}
		if r == nil {
			r = store.Record(ns, name, f[0], f[1])
		}
		r.Spec.Values = append(r.Spec.Values, strings.Join(f[2:], " "))
	}
	w.objectMeta(&r.ObjectMeta)
	r.Spec.ZoneRef = w.readReference(t, d)
	return r
}

func (w *world) showObject(t *testing.T, d *datadriven.TestData) string {
	var lines []string
	printf := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	var s *actor
	for _, a := range w.servers {
		s = a
	}
	what, ns, name := d.CmdArgs[0].Key, "", ""
	if len(d.CmdArgs) > 1 && len(d.CmdArgs[1].Vals) == 0 {
		ns, name, _ = strings.Cut(d.CmdArgs[1].Key, "/")
	}
	uid := func() string { return string(s.Zone(ns, name).UID) }
	keys := layout.Keys{Prefix: w.st.Prefix}
	stored := func(room string, into func(key string, value []byte) error) {
		for _, kv := range store.Must(w.st.Client.Client.Get(s.Ctx, room, clientv3.WithPrefix(),
			clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))).Kvs {
			if err := into(strings.TrimPrefix(string(kv.Key), room), kv.Value); err != nil {
				d.Fatalf(t, "%s: %v", kv.Key, err)
			}
		}
	}
	switch what {
	case "zone":
		z := &v1alpha1.Zone{}
		if err := s.Zones.Get(s.Ctx, store.Key("zones", ns, name), storage.GetOptions{}, z); err == nil {
			printf("%s", zoneText(z))
		}
	case "record":
		r := &v1alpha1.Record{}
		if err := s.Records.Get(s.Ctx, store.Key("records", ns, name), storage.GetOptions{}, r); err == nil {
			printf("%s%s", recordText(r), w.describeEarlier(s, r.Status.ZoneRef))
		}
	case "records":
		for _, r := range s.ListRecords(ns) {
			printf("%s/%s %s %s: %s", r.Namespace, r.Name, r.Spec.Type, strings.Join(r.Spec.Values, ", "), recordText(&r))
		}
	case "delegation":
		o := s.Delegation(ns, name)
		printf("%s%s", delegationText(o), w.describeEarlier(s, o.Status.ZoneRef))
	case "claims":
		stored(keys.Room("owners")+uid()+"/", func(key string, value []byte) error {
			var o law.Owner
			err := layout.Decode(value, &o)
			text := ""
			for _, c := range o.Claims {
				text += " " + describeClaim(c)
			}
			if text != "" {
				printf("%s:%s", key, text)
			}
			return err
		})
		slices.Sort(lines)
	case "journal":
		stored(keys.Journal(uid()), func(key string, value []byte) error {
			var tx content.Transaction
			err := layout.Decode(value, &tx)
			var steps []string
			switch {
			case tx.Gone:
				steps = append(steps, "gone")
			case len(tx.Steps) == 0 && tx.Settled:
				steps = append(steps, "settled")
			case len(tx.Steps) == 0:
				steps = append(steps, "not settled")
			}
			for _, step := range tx.Steps {
				text := fmt.Sprint(step.Serial)
				if step.HeaderAfter != nil {
					text += " header"
				}
				for _, r := range step.Removed {
					text += fmt.Sprintf(" -%s %s %s", r.Owner, r.Type, r.Data)
				}
				for _, r := range step.Added {
					text += fmt.Sprintf(" +%s %s %s", r.Owner, r.Type, r.Data)
				}
				steps = append(steps, text)
			}
			printf("%s", strings.Join(steps, "; "))
			return err
		})
	case "outbox":
		stored(keys.Room("outbox"), func(_ string, value []byte) error {
			var work law.Work
			err := layout.Decode(value, &work)
			printf("%s", work.Reason)
			return err
		})
		stored(keys.Room("debts"), func(_ string, value []byte) error {
			var cut law.Derivation
			err := layout.Decode(value, &cut)
			printf("%s/%s counts its child %s/%s", cut.Into.Namespace, cut.Into.Name, cut.From.Namespace, cut.From.Name)
			return err
		})
	case "damage":
		for _, f := range w.st.Fsck().Damage.List {
			printf("%s", f.Rule)
		}
		slices.Sort(lines)
		lines = slices.Compact(lines)
	case "lost":
		a := w.servers[ns]
		now := a.Ledger.Stats().Conflicts.Load()
		printf("%d", now-a.lost)
		a.lost = now
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

func reasonOf(r *v1alpha1.Record) string {
	if c := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionAdopted); c != nil {
		return c.Reason
	}
	return ""
}

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
