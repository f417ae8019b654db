// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/bind9/agent/client"
	"kubi.zone/kubizone/pkg/bind9/agent/protocol"
	"kubi.zone/kubizone/pkg/controller/transferclass"
	"kubi.zone/kubizone/pkg/delivery/transfer"
	"kubi.zone/kubizone/pkg/dns/name"
	"kubi.zone/kubizone/pkg/dns/serial"
)

// work is one zone at one look.
type work struct {
	*Controller
	zone *v1alpha1.Zone
	fqdn name.Name
	of   *v1alpha1.DNSClass
	// signer and servers are of the class of the zone; signer.Name is "" where there is none.
	signer  apiclass.Server
	servers []transfer.Secondary
	asked   transfer.Secondary // the signer, as it is asked by DNS
	agent   *client.Client
	// behind is the latest serial of a server that is ahead of the zone's.
	behind uint32
}

// syncZone looks at one zone and does what is to be done next. It returns when to look again, 0 for not before it
// changes.
func (c *Controller) syncZone(ctx context.Context, zone *v1alpha1.Zone) (time.Duration, error) {
	status := zone.Status.DNSSEC
	if zone.DeletionTimestamp != nil {
		return c.removeDeleted(ctx, zone)
	}
	if zone.Spec.DNSSEC == nil && isUnsignedHere(status) || zone.Status.FQDN == "" || zone.Status.Serial == 0 {
		return 0, nil
	}
	fqdn, err := name.Parse(zone.Status.FQDN)
	if err != nil {
		return 0, err
	}
	w := &work{Controller: c, zone: zone, fqdn: fqdn}
	f := &facts{now: c.Now(), status: status, times: defaultTimes}
	if zone.Spec.DNSSEC != nil {
		f.policy = zone.Spec.DNSSEC.Policy
	}
	switch err := w.findSigner(ctx, f); {
	case errors.Is(err, errUnknownMember):
		return pendingInterval, nil
	case err != nil:
		return 0, err
	}
	if w.agent != nil {
		if err := w.askFacts(ctx, f); err != nil {
			return pendingInterval, w.writeProblem(ctx, err)
		}
	} else if status != nil && status.Phase != "" {
		f.lacking, f.keeping = f.blocked, f.blocked
		return blockedInterval, w.writeProblem(ctx, errors.New(f.blocked))
	}
	d := decideNext(f)
	if err := w.carryOut(ctx, f, d); err != nil {
		return pendingInterval, w.writeProblem(ctx, err)
	}
	return d.again, w.writeStatus(ctx, d.status)
}

// isUnsignedHere reports whether there is nothing to end. DS without a phase are of another client, which signs the
// zone elsewhere and has its parent derive them.
func isUnsignedHere(status *v1alpha1.ZoneDNSSECStatus) bool {
	return status == nil || status.Phase == "" && len(status.DS) > 0
}

// removeDeleted has the signer remove a Zone that is being deleted and that no class delivers any more, and ends what
// holds the Zone for that (S12.9). Its keys stay for a while, as those of a Zone do that is withdrawn.
func (c *Controller) removeDeleted(ctx context.Context, zone *v1alpha1.Zone) (time.Duration, error) {
	status := zone.Status.DNSSEC
	if status == nil || status.Phase == "" || status.Signer == nil {
		return 0, nil
	}
	classes, err := c.listClassesOf(zone)
	if err != nil || len(classes) > 0 {
		return pendingInterval, err // it is withdrawn first
	}
	fqdn, err := name.Parse(status.FQDN)
	if err != nil {
		return 0, err
	}
	w := &work{Controller: c, zone: zone, fqdn: fqdn}
	server, runs, err := c.Servers.Find(status.Signer.Namespace, status.Signer.Name)
	if err != nil {
		return 0, err
	}
	if runs {
		if w.agent, err = c.Agents.ClientOf(server, c.allowsLocal(server)); err == nil {
			isOwner := func(owner string) bool { return owner == "" || owner == zone.Namespace }
			err = w.agent.RemoveOwned(ctx, fqdn, isOwner, w.refuseOlder)
		}
		if err != nil {
			return pendingInterval, w.writeProblem(ctx, fmt.Errorf("the zone is not removed at the signer: %w", err))
		}
	}
	return 0, w.writeStatus(ctx, nil)
}

// findSigner finds the class of the zone and its signer, or says in blocked why there is none.
func (w *work) findSigner(ctx context.Context, f *facts) error {
	classes, err := w.listClassesOf(w.zone)
	if err != nil {
		return err
	}
	switch len(classes) {
	case 0:
		f.blocked = "no class delivers it yet"
		return nil
	case 1:
	default:
		f.blocked = fmt.Sprintf("%d classes deliver it, and one signer can sign it: have one class deliver it", len(classes))
		return nil
	}
	inForce := w.InForce(w.zone)
	at := slices.IndexFunc(inForce, func(of *v1alpha1.DNSClass) bool { return of.Name == classes[0] })
	if at < 0 {
		f.blocked = fmt.Sprintf("the class %s, which has delivered it, is not in force for it: see the condition Ready", classes[0])
		return nil
	}
	w.of = inForce[at]
	if block := w.of.Spec.Bind9; block == nil || block.ClusterRef == nil || apiclass.ModeOf(block) != v1alpha1.Bind9ModeCatalog {
		f.blocked = fmt.Sprintf("DNSClass %s delivers to no Bind9Cluster (bind9.clusterRef) in the mode Catalog", w.of.Name)
		return nil
	}
	servers, err := w.Servers.Of(w.of)
	if err != nil {
		return err
	}
	ref := w.of.Spec.Bind9.ClusterRef
	cluster := w.Servers.Cluster(ref.Namespace, ref.Name)
	if cluster == nil || cluster.Spec.DNSSEC == nil {
		f.blocked = fmt.Sprintf("Bind9Cluster %s/%s signs no zones: set spec.dnssec there", ref.Namespace, ref.Name)
		return nil
	}
	policy := f.policy
	if f.status != nil && f.status.Policy != "" && policy == "" {
		policy = f.status.Policy
	}
	times, known := timesOf(cluster, policy)
	if f.times = times; !known {
		f.blocked = fmt.Sprintf("Bind9Cluster %s/%s has no policy %q: add it to spec.dnssec.policies, or name another one", ref.Namespace,
			ref.Name, policy)
	}
	selected, err := transferclass.ReadServers(w.of, servers, nil, func(namespace, name string) (map[string][]byte, error) {
		return w.Secrets.Get(ctx, namespace, name)
	})
	if err != nil {
		return err
	}
	for i, server := range selected.Known {
		ownSigner := server.Signer && server.Namespace == ref.Namespace
		if ownSigner {
			w.signer, w.asked = server, selected.Secondaries[i]
		} else {
			w.servers = append(w.servers, selected.Secondaries[i])
		}
		// The signer takes the TSIG key of its own cluster, and the fleet names it to these servers alone.
		isRun := server.Agent.AuthoritiesKey != ""
		if common := (v1alpha1.SecretReference{Namespace: ref.Namespace, Name: ref.Name + "-tsig"}); isRun && !ownSigner &&
			(server.Key == nil || *server.Key != common) {
			f.blocked = fmt.Sprintf("DNSClass %s has the server %s, which is not of Bind9Cluster %s/%s and cannot transfer from its signer",
				w.of.Name, transferclass.RowName(server), ref.Namespace, ref.Name)
		}
	}
	switch {
	case w.signer.Name == "":
		f.blocked = fmt.Sprintf("the signer of Bind9Cluster %s/%s is not there yet, or has no address or key", ref.Namespace, ref.Name)
		return nil
	case len(selected.Waiting) > 0:
		if f.lacking = transferclass.RowName(selected.Waiting[0].Server) + " has no address yet"; selected.Waiting[0].Err != nil {
			f.lacking = selected.Waiting[0].Err.Message
		}
	case len(w.servers) == 0:
		f.lacking = "the class has no server beside the signer"
	}
	if status := w.zone.Status.DNSSEC; status != nil && status.Phase != "" && status.Signer != nil && !isSignedAt(w.zone, w.signer) {
		f.blocked = fmt.Sprintf("it is signed by %s/%s, and Bind9Cluster %s/%s has the signer %s: "+
			"give it back the class by which it was signed; to sign it by another one, remove spec.dnssec there and change the class "+
			"when status.dnssec is gone",
			status.Signer.Namespace, status.Signer.Name, ref.Namespace, ref.Name, transferclass.RowName(w.signer))
		w.signer = apiclass.Server{} // that in the status stays
		return nil
	}
	taken, err := w.isTaken(ref)
	if err != nil {
		return err
	}
	if taken {
		w.signer = apiclass.Server{} // as above
		f.blocked = fmt.Sprintf("the signer of Bind9Cluster %s/%s has, or is to have, another Zone of the name %s", ref.Namespace, ref.Name,
			w.fqdn)
		return nil
	}
	w.agent, err = w.Agents.ClientOf(w.signer, w.of.Spec.AllowLocalAddresses)
	return err
}

// listClassesOf are the classes that have a Delivery of a zone which has begun.
func (c *Controller) listClassesOf(zone *v1alpha1.Zone) (classes []string, err error) {
	deliveries, err := c.Deliveries.Lister().Deliveries(zone.Namespace).List(labels.Everything())
	for _, one := range deliveries {
		if one.Spec.Zone.UID == zone.UID && one.Status.FQDN != "" {
			classes = append(classes, apiclass.NameOf(one.Namespace, one.Spec.ClassRef))
		}
	}
	return classes, err
}

// allowsLocal reports whether a class of the signer's cluster allows local addresses: the zone has no class any more.
func (c *Controller) allowsLocal(signer apiclass.Server) bool {
	all, _ := c.Classes.Lister().List(labels.Everything()) // an error of the cache's alone, of which there is none
	return slices.ContainsFunc(all, func(of *v1alpha1.DNSClass) bool {
		return of.Spec.AllowLocalAddresses && of.Spec.Bind9 != nil && of.Spec.Bind9.ClusterRef != nil &&
			of.Spec.Bind9.ClusterRef.Namespace == signer.Namespace
	})
}

// isSignedAt reports whether the status of a zone names a signer.
func isSignedAt(zone *v1alpha1.Zone, signer apiclass.Server) bool {
	status := zone.Status.DNSSEC
	return status != nil && status.Signer != nil && *status.Signer == v1alpha1.ZoneSigner{Namespace: signer.Namespace, Name: signer.Name}
}

// listSignedAt returns the Zones of a name whose status names a signer. It has each Zone that this process has begun to
// sign: the signer is told of a zone after the status was read back.
func (c *Controller) listSignedAt(signer apiclass.Server, fqdn name.Name) (zones []*v1alpha1.Zone, err error) {
	sameName, err := c.Zones.Informer().GetIndexer().ByIndex(bySigned, fqdn.String())
	for _, object := range sameName {
		if zone := object.(*v1alpha1.Zone); isSignedAt(zone, signer) {
			zones = append(zones, zone)
		}
	}
	return zones, err
}

// errUnknownMember says that the Delivery of a zone is not known yet to the members of classes.
var errUnknownMember = errors.New("the Delivery is not known yet")

// isTaken reports whether the zone of this name at the signer is that of another Zone, of another view: one that is
// signed there, or else the one that was delivered first by the classes of the cluster.
func (w *work) isTaken(ref *v1alpha1.Bind9ClusterReference) (bool, error) {
	signed, err := w.listSignedAt(w.signer, w.fqdn)
	if err != nil {
		return false, err
	}
	byOther := slices.ContainsFunc(signed, func(zone *v1alpha1.Zone) bool { return zone.UID != w.zone.UID })
	if isSignedAt(w.zone, w.signer) != byOther {
		return byOther, nil
	}
	all, err := w.Classes.Lister().List(labels.Everything())
	if err != nil {
		return false, err
	}
	names := []string{ref.Namespace + "/" + ref.Name} // the cluster as a class itself
	for _, one := range all {
		if block := one.Spec.Bind9; block != nil && block.ClusterRef != nil && *block.ClusterRef == *ref {
			names = append(names, one.Name)
		}
	}
	holder := w.Holder(names, w.fqdn)
	if holder == "" {
		return false, errUnknownMember
	}
	return holder != string(w.zone.UID), nil
}

var defaultTimes = times{maxZoneTTL: 24 * time.Hour, parentDSTTL: 24 * time.Hour, dnskey: 3 * time.Hour}

// timesOf are the times of a policy of a cluster; false: it has none of that name.
func timesOf(cluster *bind9.Bind9Cluster, policy string) (times, bool) {
	t := defaultTimes
	if policy == "default" {
		return t, true
	}
	for i := range cluster.Spec.DNSSEC.Policies {
		one := &cluster.Spec.DNSSEC.Policies[i]
		if one.Name != policy {
			continue
		}
		if timing := one.Timing; timing != nil {
			set := func(to *time.Duration, from *metav1.Duration) {
				if from != nil {
					*to = from.Duration
				}
			}
			set(&t.maxZoneTTL, timing.MaxZoneTTL)
			set(&t.parentDSTTL, timing.ParentDSTTL)
			set(&t.dnskey, timing.DNSKEYTTL)
		}
		return t, true
	}
	return t, false
}

// askFacts asks the signer, the servers and the parent, as far as the phase needs them.
func (w *work) askFacts(ctx context.Context, f *facts) error {
	phase := v1alpha1.DNSSECPhase("")
	if f.status != nil {
		phase = f.status.Phase
	}
	var err error
	switch phase {
	case v1alpha1.DNSSECSigning, v1alpha1.DNSSECMoving, v1alpha1.DNSSECSigned:
		if f.signing, err = w.readSigning(ctx); err != nil {
			return err
		}
		f.otherKeys = f.signing.KeyOwner != "" && f.signing.KeyOwner != w.zone.Namespace
		if status := f.signing.Status; status != nil && status.UnsignedSerial != nil {
			f.current = !serial.Serial(w.zone.Status.SettledSerial).Ahead(serial.Serial(*status.UnsignedSerial))
		}
	}
	switch phase {
	case v1alpha1.DNSSECMoving, v1alpha1.DNSSECSigned, v1alpha1.DNSSECReturning:
		w.askServers(ctx, f)
	}
	switch phase {
	case v1alpha1.DNSSECSigned, v1alpha1.DNSSECWithdrawing, v1alpha1.DNSSECExpiring:
		f.parent = w.askParent(ctx)
		f.refuseLongTTL()
		known := w.memory.of(w.zone.UID)
		known.dsTTL = max(known.dsTTL, f.ttl)
		f.longestTTL = known.dsTTL
	}
	return nil
}

func (w *work) readSigning(ctx context.Context) (client.Signing, error) {
	ctx, cancel := context.WithTimeout(ctx, agentTimeout)
	defer cancel()
	return w.agent.ReadSigning(ctx, w.fqdn)
}

// askServers compares the keys that the servers of the class answer with those of the signer.
func (w *work) askServers(ctx context.Context, f *facts) {
	keys, err := w.askKeys(ctx, w.asked)
	if err != nil {
		f.lacking, f.keeping = fmt.Sprintf("%s: %v", w.asked.Name, err), fmt.Sprintf("%s: %v", w.asked.Name, err)
		f.ahead = true // which serial to pass is not known, and the serial of a zone is raised once a day (S6.11)
		return
	}
	// The signer signs on, and each signature is a serial.
	f.ahead = !serial.Serial(keys.Serial).Ahead(serial.Serial(w.zone.Status.Serial))
	w.behind = keys.Serial
	all := make([]*askedServer, len(w.servers))
	for i, server := range w.servers {
		all[i] = &askedServer{Secondary: server}
	}
	askEach(all, func(one *askedServer) { one.Served, one.err = w.askKeys(ctx, one.Secondary) })
	for _, theirs := range all {
		if theirs.err != nil {
			f.lacking, f.keeping = fmt.Sprintf("%s: %v", theirs.Name, theirs.err), fmt.Sprintf("%s: %v", theirs.Name, theirs.err)
			continue
		}
		shared := 0
		for key := range keys.Keys {
			if theirs.Keys[key] {
				shared++
			}
		}
		if shared < len(keys.Keys) {
			f.lacking = theirs.Name + " does not answer with the keys of the signer"
		}
		if shared > 0 {
			f.keeping = theirs.Name + " answers with keys of the signer"
		}
		if serial.Serial(theirs.Serial).Ahead(serial.Serial(w.zone.Status.Serial)) {
			f.ahead = false
			if serial.Serial(theirs.Serial).Ahead(serial.Serial(w.behind)) {
				w.behind = theirs.Serial
			}
		}
	}
	if len(keys.Keys) == 0 {
		f.lacking = w.asked.Name + " has no keys"
	}
}

// carryOut does what was decided at the signer, or with the serial of the zone.
func (w *work) carryOut(ctx context.Context, f *facts, d decision) error {
	var err error
	targets, known := w.listTargets(), w.memory.of(w.zone.UID)
	if all := strings.Join(targets, " "); (d.action == nothing || d.action == remind) && f.signing.Present && known.targets != all {
		d.action, known.targets = ensure, all
	}
	switch d.action {
	case ensure:
		err = w.agent.Ensure(ctx, w.fqdn, protocol.CreateZone{ZoneType: protocol.Secondary, KeyOwner: w.zone.Namespace,
			ZoneConfig: protocol.ZoneConfig{
				Primaries: []string{"list " + apiclass.HiddenPrimary}, AlsoNotify: targets, DNSSECPolicy: d.status.Policy,
			}}, w.refuseOlder)
	case remove:
		err = w.agent.RemoveSigned(ctx, w.fqdn, w.refuseOlder)
	case passServers:
		err = w.raiseSerial(ctx)
	case remind:
		err = known.remindOnce(f.now, func() error { return w.agent.Notify(ctx, w.fqdn) })
	}
	if err != nil {
		return err
	}
	for _, one := range d.tell {
		err := known.tellOnce(one, func() error { return w.agent.CheckDS(ctx, w.fqdn, one.keyTag, one.state) })
		if err != nil {
			return err
		}
	}
	return nil
}

// listTargets are the servers that the signer tells of new serials.
func (w *work) listTargets() []string {
	var targets []string
	for _, server := range w.servers {
		target := server.Addr.String()
		if server.Key != nil {
			target += " key " + strings.TrimSuffix(server.Key.Name, ".")
		}
		targets = append(targets, target)
	}
	return targets
}
