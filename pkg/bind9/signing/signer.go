// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package signing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/bind9/agent/client"
	"kubi.zone/kubizone/pkg/delivery/controller/transferclass"
	"kubi.zone/kubizone/pkg/delivery/transfer"
	"kubi.zone/kubizone/pkg/dns/name"
)

type site struct {
	class     *v1alpha1.DNSClass
	signer    apiclass.Server
	signerDNS transfer.Secondary
	servers   []transfer.Secondary
	agent     *client.Client // nil if nothing signs the zone
}

// Each field is looked up by the field before. After a field without a unique value, all further fields are zero.
type candidates struct {
	classes []string
	class   *v1alpha1.DNSClass
	cluster *bind9.Bind9Cluster
	servers transferclass.Selected
}

// findSigner looks up the zone's class, signer, servers and agent, and sets policy times and the reason for a blocked
// zone in f. errUnknownMember means lagging informers.
func (w *work) findSigner(ctx context.Context, f *facts) error {
	among, err := w.readCandidates(ctx)
	if err != nil {
		return err
	}
	w.site = chooseSite(among, w.zone, f)
	if w.signer.Name == "" {
		return nil
	}

	// Two views may have a zone of the same name, and a signer has one of them.
	taken, err := w.hasOtherOwner(w.class.Spec.Bind9.ClusterRef)
	if err != nil {
		return err
	}
	if taken {
		f.blocked = fmt.Sprintf("the signer of Bind9Cluster %s has, or is to have, another Zone of the name %s",
			describeCluster(w.class), w.fqdn)
		w.signer = apiclass.Server{} // the status keeps its signer
		return nil
	}
	w.agent, err = w.Agents.ClientOf(w.signer, w.class.Spec.AllowLocalAddresses)
	return err
}

// readCandidates looks up class, cluster and servers of the zone. It ends at the first missing or ambiguous value,
// which chooseSite explains.
func (w *work) readCandidates(ctx context.Context) (c candidates, err error) {
	if c.classes, err = w.listClassesOf(w.zone); err != nil || len(c.classes) != 1 {
		return c, err
	}
	inForce := w.InForce(w.zone)
	at := slices.IndexFunc(inForce, func(of *v1alpha1.DNSClass) bool { return of.Name == c.classes[0] })
	if at < 0 {
		return c, nil
	}
	c.class = inForce[at]
	if !deliversByCatalog(c.class) {
		return c, nil
	}
	ref := c.class.Spec.Bind9.ClusterRef
	if c.cluster = w.Servers.Cluster(ref.Namespace, ref.Name); c.cluster == nil || c.cluster.Spec.DNSSEC == nil {
		return c, nil
	}
	servers, err := w.Servers.ListServers(c.class)
	if err != nil {
		return c, err
	}
	c.servers, err = transferclass.ReadServers(c.class, servers, nil, func(namespace, name string) (map[string][]byte, error) {
		return w.Secrets.Get(ctx, namespace, name)
	})
	return c, err
}

func deliversByCatalog(of *v1alpha1.DNSClass) bool {
	block := of.Spec.Bind9
	return block != nil && block.ClusterRef != nil && apiclass.ModeOf(block) == v1alpha1.Bind9ModeCatalog
}

func describeCluster(of *v1alpha1.DNSClass) string {
	return of.Spec.Bind9.ClusterRef.Namespace + "/" + of.Spec.Bind9.ClusterRef.Name
}

// chooseSite returns the signer and the servers of a zone. If none can sign, signer is zero and f.blocked says why, in
// words for the zone's owner. f.times is set in any case.
func chooseSite(among candidates, zone *v1alpha1.Zone, f *facts) (at site) {
	at.class, f.times = among.class, defaultTimes
	switch {
	case len(among.classes) == 0:
		f.blocked = "no class delivers it yet"
		return at
	case len(among.classes) > 1:
		f.blocked = fmt.Sprintf("%d classes deliver it, and one signer can sign it: have one class deliver it", len(among.classes))
		return at
	case at.class == nil:
		f.blocked = fmt.Sprintf("the class %s, which delivered it, is no longer in force for it: see the condition Ready", among.classes[0])
		return at
	case !deliversByCatalog(at.class):
		f.blocked = fmt.Sprintf("DNSClass %s delivers to no Bind9Cluster (bind9.clusterRef) in the mode Catalog", at.class.Name)
		return at
	case among.cluster == nil || among.cluster.Spec.DNSSEC == nil:
		f.blocked = fmt.Sprintf("Bind9Cluster %s signs no zones: set spec.dnssec there", describeCluster(at.class))
		return at
	}

	// 1. The times of the policy. A zone on its way to unsigned keeps the policy in its status.
	cluster := describeCluster(at.class)
	policy := f.policy
	if f.status != nil && f.status.Policy != "" && policy == "" {
		policy = f.status.Policy
	}

	times, known := timesOf(among.cluster, policy)
	if f.times = times; !known {
		f.blocked = fmt.Sprintf("Bind9Cluster %s has no policy %q: add it to spec.dnssec.policies, or name another one", cluster, policy)
	}

	// 2. The signer, and servers with a key for the signer.
	if stranger := at.splitServers(among.servers); stranger != "" {
		f.blocked = fmt.Sprintf("DNSClass %s has the server %s, which is not of Bind9Cluster %s and cannot transfer from its signer",
			at.class.Name, stranger, cluster)
	}

	switch waiting := among.servers.Waiting; {
	case at.signer.Name == "":
		f.blocked = fmt.Sprintf("the signer of Bind9Cluster %s is not there yet, or has no address or key", cluster)
		return at
	case len(waiting) > 0 && waiting[0].Err != nil:
		f.unsigned = waiting[0].Err.Message
	case len(waiting) > 0:
		f.unsigned = transferclass.RowName(waiting[0].Server) + " has no address yet"
	case len(at.servers) == 0:
		f.unsigned = "the class has no server beside the signer"
	}

	// 3. The keys are at the signer of the status. Another signer would sign with other keys (G4).
	if status := zone.Status.DNSSEC; status != nil && status.Phase != "" && status.Signer != nil && !isSignedAt(zone, at.signer) {
		f.blocked = fmt.Sprintf("it is signed by %s/%s, and Bind9Cluster %s has the signer %s: give it back the class by which it was "+
			"signed; to sign it by another one, remove spec.dnssec there and change the class when status.dnssec is gone",
			status.Signer.Namespace, status.Signer.Name, cluster, transferclass.RowName(at.signer))
		at.signer = apiclass.Server{} // the status keeps its signer
	}
	return at
}

// splitServers sets signer and servers of the site. stranger names a server of the fleet with a TSIG key unknown to the
// signer; "" means none.
func (at *site) splitServers(selected transferclass.Selected) (stranger string) {
	ref := at.class.Spec.Bind9.ClusterRef
	common := v1alpha1.SecretReference{Namespace: ref.Namespace, Name: ref.Name + "-tsig"}
	for i, server := range selected.Servers {
		if server.Signer && server.Namespace == ref.Namespace {
			at.signer, at.signerDNS = server, selected.Secondaries[i]
			continue
		}
		at.servers = append(at.servers, selected.Secondaries[i])
		// The keys of an external server are its operator's concern.
		if isRun := server.Agent.AuthoritiesKey != ""; isRun && (server.Key == nil || *server.Key != common) {
			stranger = transferclass.RowName(server)
		}
	}
	return stranger
}

func (c *Controller) listClassesOf(zone *v1alpha1.Zone) (classes []string, err error) {
	deliveries, err := c.Deliveries.Lister().Deliveries(zone.Namespace).List(labels.Everything())
	for _, one := range deliveries {
		if one.Spec.Zone.UID == zone.UID && one.Status.FQDN != "" {
			classes = append(classes, apiclass.NameOf(one.Namespace, one.Spec.ClassRef))
		}
	}
	return classes, err
}

func isSignedAt(zone *v1alpha1.Zone, signer apiclass.Server) bool {
	status := zone.Status.DNSSEC
	return status != nil && status.Signer != nil && *status.Signer == v1alpha1.ZoneSigner{Namespace: signer.Namespace, Name: signer.Name}
}

// listSignedAt is complete, because a zone is sent to a signer only after its status was read back.
func (c *Controller) listSignedAt(signer apiclass.Server, fqdn name.Name) (zones []*v1alpha1.Zone, err error) {
	sameName, err := c.Zones.Informer().GetIndexer().ByIndex(bySigned, fqdn.String())
	for _, object := range sameName {
		if zone := object.(*v1alpha1.Zone); isSignedAt(zone, signer) {
			zones = append(zones, zone)
		}
	}
	return zones, err
}

// hasOtherOwner reports whether the zone's name at the signer belongs to another Zone. The owner is the Zone signed
// there, else the Zone that the cluster's classes deliver first.
func (w *work) hasOtherOwner(ref *v1alpha1.Bind9ClusterReference) (bool, error) {
	signed, err := w.listSignedAt(w.signer, w.fqdn)
	if err != nil {
		return false, err
	}

	byUs := isSignedAt(w.zone, w.signer)
	byOther := slices.ContainsFunc(signed, func(zone *v1alpha1.Zone) bool { return zone.UID != w.zone.UID })
	if byUs != byOther {
		return byOther, nil
	}

	// Both or neither are signed there, so the classes decide.
	classes, err := w.listClassesAt(ref)
	if err != nil {
		return false, err
	}
	holder := w.Holder(classes, w.fqdn)
	if holder == "" {
		return false, errUnknownMember
	}
	return holder != string(w.zone.UID), nil
}

// listClassesAt returns the classes of a cluster, with the cluster's own class first.
func (w *work) listClassesAt(cluster *v1alpha1.Bind9ClusterReference) ([]string, error) {
	all, err := w.Classes.Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	names := []string{cluster.Namespace + "/" + cluster.Name} // the cluster is a class itself
	for _, class := range all {
		if block := class.Spec.Bind9; block != nil && block.ClusterRef != nil && *block.ClusterRef == *cluster {
			names = append(names, class.Name)
		}
	}
	return names, nil
}

var errUnknownMember = errors.New("the Delivery is not known yet")

var defaultTimes = times{maxZoneTTL: 24 * time.Hour, parentDSTTL: 24 * time.Hour, dnskey: 3 * time.Hour}

// timesOf returns the times of a cluster's policy, with defaults for unset times. ok is false if the cluster has no
// such policy.
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
