// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package class

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apis/precedence"
	"kubi.zone/kubizone/pkg/delivery"
	"kubi.zone/kubizone/pkg/delivery/objects"
)

const (
	secretInterval = 5 * time.Second
	healthTime     = 30 * time.Second
)

// classSync passes each class (DNSClass or Bind9Cluster) to the Loop, the scheduler of deliveries, and writes the
// status of the class.
type classSync struct {
	*shared
	providers   providers
	listServers func(of *v1alpha1.DNSClass) []string // Config.Servers
	interval    time.Duration                        // between health checks
	metrics     *Metrics
	checks      sync.WaitGroup // calls to providers in progress

	mu    sync.Mutex
	known map[string]*knownClass // by name
	// questions counts the queries in a comparison of all zones. The more queries, the rarer are comparisons.
	questions questions
	// emptied has, by UID, when a deleted class was first seen without Deliveries.
	emptied map[types.UID]time.Time
}

// farewellTime is the time from emptied to the removal of the finalizer, in which servers get the empty catalog from a
// primary.
const farewellTime = 5 * time.Second

type knownClass struct {
	uid        types.UID
	generation int64
	missing    bool // there is no such class
	// secrets has the digests from readSecret by namespace/name.
	secrets   map[string]string
	abilities delivery.Abilities
	spec      delivery.Class
	asking    bool // Loop.AskLast runs
	// checkedAt is the begin of the last check. provenAt is the time of the last delivery that proved health.
	checkedAt, provenAt time.Time
	// hasHealth is true once a check has a result. health is the result, nil if good, and healthFoundAt its time.
	hasHealth     bool
	health        error
	healthFoundAt metav1.Time
	// writtenCondition is the last Delivering of a Bind9Cluster, and writtenVersion the version that it replaced,
	// because the informer may lag.
	writtenCondition metav1.Condition
	writtenVersion   string
	// claims maps the names of this class's TSIG keys to texts that identify the keys. lost is the class with the right
	// to such a name, or "". stale is true if lost changed since the last SetClass.
	claims map[string]string
	lost   string
	stale  bool
	// keyNames are the key names last assigned, sorted; nil means those in the status.
	keyNames []string
}

// c.mu is held.
func (k *knownClass) noteHealth(health error) {
	k.hasHealth, k.health, k.healthFoundAt = true, health, metav1.Now().Rfc3339Copy()
}

// setMissing tells the Loop of an absent class, whose zones report DNSClassNotFound. The class is looked at again,
// until no zone names it: a tenant may name ever other classes.
func (c *classSync) setMissing(name string) {
	c.queue.AddAfter(task{kind: classTask, name: name}, forgetInterval)
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.known[name]; known != nil {
		if known.missing {
			return
		}
		c.stalls.Forget(known.uid)
	}
	c.known[name] = &knownClass{missing: true}
	c.questions.setNumber(name, 0)
	c.decideClaims()
	c.loop.SetClass(delivery.Class{Name: name, Generation: "missing", Err: &delivery.Error{
		Reason: objects.ReasonDNSClassNotFound, Permanent: true, Message: "there is no " + objects.Describe(name),
	}})
}

// enqueueCluster lets a Bind9Cluster become a class as soon as a zone names it. A Bind9Cluster without zones is none.
func (c *classSync) enqueueCluster(name string) {
	if c.index.ClassByName(name) == nil {
		c.setMissing(name)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.known[name]; known == nil || known.missing {
		c.queue.Add(task{kind: classTask, name: name})
	}
}

const forgetInterval = 20 * time.Second

// forgetClass removes the class of a Bind9Cluster, or of an absent DNSClass, once no zone and no Delivery names it, and
// reports whether it is gone. A present DNSClass is a class without zones, too.
func (c *classSync) forgetClass(name string) bool {
	_, _, isCluster := class.SplitCluster(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.known[name]
	// A zone is indexed before enqueueCluster reads c.known, so no zone is missed.
	if !isCluster && (known == nil || !known.missing) || c.index.NamesClass(name) {
		return false
	}
	if known != nil && !c.loop.RemoveClass(name) {
		c.queue.AddAfter(task{kind: classTask, name: name}, forgetInterval) // no event says that the last zone has left
		return false
	}
	if known != nil {
		c.stalls.Forget(known.uid)
		delete(c.known, name)
		c.questions.setNumber(name, 0)
		c.metrics.forgetClass(name)
		c.decideClaims()
	}
	return true
}

// decideClaims decides which class owns each TSIG key name: the class that uses the name, or else the oldest. Primaries
// decide alike (transferclass). c.mu is held.
func (c *classSync) decideClaims() {
	// Classes with a block bind9 claim nothing.
	order := c.index.AllClasses()
	slices.SortFunc(order, func(a, b *v1alpha1.DNSClass) int { return rankOf(a).Compare(rankOf(b)) })
	claimsOf := func(dnsClass *v1alpha1.DNSClass) map[string]string {
		if known := c.known[dnsClass.Name]; known != nil {
			return known.claims
		}
		return nil
	}
	_, lost := precedence.Decide(order, claimsOf, c.usesOf)

	for index, dnsClass := range order {
		winnerName := ""
		if winner := lost[index]; winner != nil {
			winnerName = winner.Name
		}
		known := c.known[dnsClass.Name]
		// The class won or lost its key to another class, so its provider has to be made or closed.
		hasChanged := known != nil && known.lost != winnerName
		if hasChanged {
			known.lost, known.stale = winnerName, true
			c.queue.Add(task{kind: classTask, name: dnsClass.Name})
		}
	}
}

func rankOf(of *v1alpha1.DNSClass) precedence.Rank {
	return precedence.Rank{Since: of.CreationTimestamp.Time, ID: of.Name}
}

// c.mu is held.
func (c *classSync) usesOf(of *v1alpha1.DNSClass) []string {
	if known := c.known[of.Name]; known != nil && known.uid == of.UID && known.keyNames != nil {
		return known.keyNames
	}
	return of.Status.KeyNames
}

// recordNames writes the key names assigned to a class into status.keyNames, so that the names stay with the class
// after a restart of the controller.
func (c *classSync) recordNames(ctx context.Context, name string) error {
	of := c.index.ClassByName(name)
	if of == nil {
		return nil
	}
	c.mu.Lock()
	uses := c.usesOf(of)
	c.mu.Unlock()
	if slices.Equal(uses, of.Status.KeyNames) {
		return nil
	}
	return c.status.writeKeyNames(ctx, of, uses)
}

func (c *classSync) syncClass(ctx context.Context, name string) error {
	return errors.Join(c.syncProvider(ctx, name), c.recordNames(ctx, name))
}

// syncProvider passes a changed class to the Loop, and the end of a deleted class. name is that of a DNSClass, or
// NAMESPACE/NAME of a Bind9Cluster. An error leads to a retry.
func (c *classSync) syncProvider(ctx context.Context, name string) error {
	of := c.index.ClassByName(name)
	c.mu.Lock()
	known := c.known[name]
	stale := known != nil && known.stale
	c.mu.Unlock()

	// 1. Release or forget a deleted class.
	if of != nil && of.UID == "" {
		return nil // the Bind9Clusters are not listed yet
	}
	if of != nil && of.DeletionTimestamp != nil && slices.Contains(of.Finalizers, v1alpha1.FinalizerDelivery) {
		if err := c.releaseClass(ctx, of); err != nil {
			return err
		}
	}
	// A health task clears the condition Delivering of the Bind9Cluster.
	if c.forgetClass(name) {
		c.queue.Add(task{kind: healthTask, name: name})
		return nil
	}
	// Zones that still name the class report DNSClassNotFound.
	if of == nil {
		if known != nil {
			c.setMissing(name)
		}
		return nil
	}
	// 2. Unchanged, except perhaps interval or servers.
	if known != nil && !stale && c.isCurrent(ctx, known, of) {
		c.refreshClass(ctx, known, of)
		return nil
	}
	// 3. Replace the class in the Loop.
	return c.remakeClass(ctx, known, of)
}

// isCurrent reports whether the spec and the Secrets of a class are as at the last SetClass.
func (c *classSync) isCurrent(ctx context.Context, known *knownClass, of *v1alpha1.DNSClass) bool {
	return known.uid == of.UID && known.generation == of.Generation &&
		maps.Equal(known.secrets, c.providers.digestSecrets(ctx, known.secrets))
}

// refreshClass passes another interval, or other servers of an unchanged class, to the Loop.
func (c *classSync) refreshClass(ctx context.Context, known *knownClass, of *v1alpha1.DNSClass) {
	interval, servers := c.driftInterval(of, known.abilities), c.listServers(of)
	// An instance joined or left the fleet of a bind9 class, without a change of the class.
	// Nil means that the instances are not listed yet, which differs from an empty list.
	others := servers != nil && (known.spec.Servers == nil || !slices.Equal(servers, known.spec.Servers))
	if interval == known.spec.DriftInterval && !others {
		return
	}
	c.mu.Lock()
	if known.spec.DriftInterval = interval; others {
		known.spec.Servers, known.provenAt = servers, time.Time{}
	}
	c.mu.Unlock()
	c.loop.SetClass(known.spec)
	if others {
		c.checkHealth(ctx, of)
	}
}

// remakeClass makes the provider of a new or changed class, and passes the class to the Loop. known is the former
// class, or nil.
func (c *classSync) remakeClass(ctx context.Context, known *knownClass, of *v1alpha1.DNSClass) error {
	fresh, err := c.makeClass(ctx, of)
	if err != nil {
		return err
	}
	// The status must have the target before SetClass, since no Delivery to the target may precede it.
	if target := fresh.spec.Target; target != "" && target != of.Status.Target {
		if err := c.status.writeTarget(ctx, of.Name, of.UID, target); err != nil {
			if fresh.spec.Provider != nil {
				fresh.spec.Provider.Close()
			}
			return err
		}
	}
	c.replaceClass(of.Name, known, fresh)
	c.loop.SetClass(fresh.spec)
	if known != nil && known.spec.Target != fresh.spec.Target { // former confirmations are of another server
		for _, one := range c.index.DeliveriesByClass(of.Name) {
			c.queue.Add(task{zoneTask, one.Namespace, one.Spec.Zone.Name})
		}
	}
	c.checkHealth(ctx, of)
	return nil
}

// releaseClass removes the finalizer of a deleted class once no Delivery needs the class. Servers that follow the
// catalog get farewellTime to see it empty.
func (c *classSync) releaseClass(ctx context.Context, of *v1alpha1.DNSClass) error {
	// While a Delivery needs the class, farewellTime does not begin.
	held, err := c.store.holdsClass(ctx, of)
	if err != nil {
		return err
	}
	if held {
		c.mu.Lock()
		delete(c.emptied, of.UID)
		c.mu.Unlock()
		return nil
	}

	// Wait only if servers follow a catalog of the class.
	c.mu.Lock()
	since, known := c.emptied[of.UID]
	if !known {
		since = time.Now()
		c.emptied[of.UID] = since
	}
	c.mu.Unlock()
	if left := time.Until(since.Add(farewellTime)); left > 0 && (of.Spec.Transfer != nil || of.Spec.Bind9 != nil) {
		c.queue.AddAfter(task{kind: classTask, name: of.Name}, left)
		return nil
	}

	if err := c.store.releaseClass(ctx, of); err != nil {
		return err
	}
	c.mu.Lock()
	delete(c.emptied, of.UID)
	c.mu.Unlock()
	return nil
}

// makeClass makes a class's provider and settings for the Loop. A fault of the class, such as a missing Secret, is no
// error, but spec.Err.
func (c *classSync) makeClass(ctx context.Context, of *v1alpha1.DNSClass) (*knownClass, error) {
	spec := delivery.Class{Name: of.Name, Paused: of.Spec.Paused, AllowRetain: of.Spec.AllowRetain, Servers: c.listServers(of)}
	spec.RequestsPerSecond = float64(ptr.Deref(of.Spec.RequestsPerSecond, defaultRequestsPerSecond))
	secrets, err := c.providers.makeProvider(ctx, of, &spec)
	if err != nil {
		spec.Provider = nil
		if !errors.As(err, &spec.Err) {
			return nil, err
		}
		// Only another Generation helps.
		broken := *spec.Err
		broken.Permanent, broken.WholeClass = true, false
		spec.Err = &broken
	}
	var can delivery.Abilities
	if spec.Provider != nil {
		can = spec.Provider.Abilities()
	}
	spec.DriftInterval = c.driftInterval(of, can)
	made := &knownClass{uid: of.UID, generation: of.Generation, secrets: secrets, abilities: can, spec: spec}
	if !of.Spec.Paused { // no primary serves a paused class, so it claims nothing
		made.claims = can.Claims
	}
	return made, nil
}

// replaceClass makes fresh the known class of a name, and decides which class owns its TSIG keys. Without its keys, the
// class gets no provider. known is the former class, or nil.
func (c *classSync) replaceClass(name string, known, fresh *knownClass) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case known == nil:
	// The class was deleted and made again: the new class has no key names yet.
	case known.uid != fresh.uid:
		c.stalls.Forget(known.uid)
	default:
		fresh.keyNames = known.keyNames
	}
	c.known[name] = fresh
	c.decideClaims()
	// The caller calls SetClass with the decision just made.
	fresh.stale = false
	// The class uses its key names from now on, and a later class cannot take them (S11.18).
	if fresh.lost == "" && fresh.spec.Provider != nil && !fresh.spec.Paused {
		fresh.keyNames = slices.AppendSeq([]string{}, maps.Keys(fresh.claims))
		slices.Sort(fresh.keyNames)
	}
	if fresh.lost != "" {
		defer fresh.spec.Provider.Close() // never used
		fresh.spec.Provider, fresh.spec.Err = nil, &delivery.Error{Reason: delivery.ReasonInvalidConfiguration, Permanent: true,
			Message: fmt.Sprintf(
				"%s uses another TSIG key of the same name, and a signature identifies its key by the name alone, so this class is not "+
					"served. Rename its key, in its Secret and at its secondaries",
				objects.Describe(fresh.lost))}
	}
	fresh.spec.Generation = generationOf(fresh)
}

const defaultRequestsPerSecond = 50

// driftInterval returns the time between comparisons of a zone. This is the class's interval, doubled until the queries
// for all zones take at most half of requestsPerSecond. A class without an interval whose servers fetch zones also
// keeps within its share of allPerSecond.
func (c *classSync) driftInterval(dnsClass *v1alpha1.DNSClass, abilities delivery.Abilities) time.Duration {
	perSecond := ptr.Deref(dnsClass.Spec.RequestsPerSecond, defaultRequestsPerSecond)
	// A class with three secondaries asks three questions for each zone.
	requests := 0 // to compare each zone once
	for _, stored := range c.index.DeliveriesByClass(dnsClass.Name) {
		requests++
		if abilities.Fetched {
			requests += max(0, len(stored.Status.Servers)-1)
		}
	}
	minimum := time.Duration(2*requests) * time.Second / time.Duration(perSecond)

	sharedMinimum := time.Duration(0)
	if abilities.Fetched {
		c.mu.Lock()
		c.questions.setNumber(dnsClass.Name, requests)
		sharedMinimum = c.questions.findInterval(dnsClass.Name)
		c.mu.Unlock()
	}

	// The interval of the class counts, unless comparisons would take more than half of the requests.
	interval := v1alpha1.DefaultDriftInterval
	switch {
	case dnsClass.Spec.DriftInterval != nil:
		interval = dnsClass.Spec.DriftInterval.Duration
	case abilities.Fetched:
		interval = time.Minute
		minimum = max(minimum, sharedMinimum)
	}
	for interval < minimum {
		interval *= 2
	}
	return interval
}

func generationOf(known *knownClass) string {
	text := fmt.Sprintf("%s/%d", known.uid, known.generation)
	for _, name := range slices.Sorted(maps.Keys(known.secrets)) {
		text += "/" + name + "=" + known.secrets[name]
	}
	return text + "/" + known.lost
}

// enqueueClasses reads all Secrets again, because a watch needs the right to list them.
func (c *classSync) enqueueClasses() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, known := range c.known {
		if !known.missing {
			c.queue.Add(task{kind: classTask, name: name})
		}
	}
}

// checkDue begins the health checks that are due. It returns before they end.
func (c *classSync) checkDue(ctx context.Context) {
	var due []string
	c.mu.Lock()
	for name, known := range c.known {
		if !known.missing && time.Since(known.checkedAt) >= c.interval {
			due = append(due, name)
		}
	}
	c.mu.Unlock()
	for _, name := range due {
		if of := c.index.ClassByName(name); of != nil {
			c.checkHealth(ctx, of)
		}
	}
}

// askLast begins Loop.AskLast for each class whose servers fetch zones, unless the last call still runs.
func (c *classSync) askLast(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, known := range c.known {
		if known.missing || known.asking || !known.abilities.Fetched {
			continue
		}
		known.asking = true
		c.checks.Go(func() {
			c.loop.AskLast(ctx, name)
			c.mu.Lock()
			defer c.mu.Unlock()
			known.asking = false
		})
	}
}

// checkHealth checks a class's health in a goroutine, and enqueues the write of its status. If deliveries have proved
// good health since the last check, no question is sent.
func (c *classSync) checkHealth(ctx context.Context, of *v1alpha1.DNSClass) {
	c.mu.Lock()
	known := c.known[of.Name]
	proven, can := false, delivery.Abilities{}
	if known != nil {
		can = known.abilities
		proven = known.hasHealth && known.health == nil && !known.provenAt.Before(known.checkedAt)
		known.checkedAt = time.Now()
	}
	c.mu.Unlock()
	c.checks.Go(func() {
		var err error
		began := time.Now()
		if !proven {
			asked, cancel := context.WithTimeout(ctx, healthTime)
			defer cancel()
			err = c.loop.Health(asked, of.Name)
		}
		if ctx.Err() != nil {
			return
		}
		// A Ready Delivery is the proof: a server has transferred a zone, for example.
		if errors.Is(err, delivery.ErrNotProven) && c.hasDelivered(of.Name, can) {
			err = nil
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		// A delivery during the check has newer proof.
		if known != nil && known.provenAt.Before(began) {
			known.noteHealth(err)
		}
		c.queue.Add(task{kind: healthTask, name: of.Name})
	})
}

func (c *classSync) hasDelivered(class string, can delivery.Abilities) bool {
	return slices.ContainsFunc(c.index.DeliveriesByClass(class), func(one *v1alpha1.Delivery) bool {
		return meta.IsStatusConditionTrue(one.Status.Conditions, v1alpha1.ConditionReady) && (!can.Fetched || len(one.Status.Servers) > 0)
	})
}

// takeEvent updates the health of a class after a delivery: a failure of the class itself, or a proof that its
// credentials work. Other events say nothing about the class.
func (c *classSync) takeEvent(event delivery.Event) {
	var health error
	switch {
	case event.ClassError != nil:
		health = event.ClassError
	case !event.Proven:
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.known[event.Key.Class]
	if known == nil || known.missing || event.Generation != known.spec.Generation { // of an earlier Secret or spec
		return
	}
	known.provenAt = time.Now()
	if known.hasHealth && sameError(known.health, health) {
		return
	}
	known.noteHealth(health)
	c.queue.Add(task{kind: healthTask, name: event.Key.Class})
}

func sameError(one, other error) bool {
	if one == nil || other == nil {
		return one == nil && other == nil
	}
	return one.Error() == other.Error()
}

// syncHealth writes Ready, Stalled and health of a class, if they differ from the stored status. For a Bind9Cluster it
// writes the condition Delivering.
func (c *classSync) syncHealth(ctx context.Context, name string) error {
	if _, _, ok := class.SplitCluster(name); ok {
		return c.syncDelivering(ctx, name)
	}
	of := c.index.ClassByName(name)
	if of == nil {
		return nil
	}
	found, at, secrets, known := c.findHealth(of)
	if !known {
		return nil
	}
	condition, health := judgeHealth(ctx, of, found, at, secrets...)
	stalled := c.judgeStalled(task{kind: healthTask, name: of.Name}, &of.ObjectMeta, of.Status.Conditions, &condition)
	before := objects.ReadyOf(of.Status.Conditions)
	if ptr.Equal(before, &condition) && of.Status.LastHealthCheck.Equal(&at) && objects.SameStall(of.Status.Conditions, stalled) {
		return nil
	}
	return c.status.writeClass(ctx, of, condition, stalled, health)
}

// findHealth returns the result and the time of the last check of a class, and the names of its Secrets. known is false
// before the first check.
func (c *classSync) findHealth(of *v1alpha1.DNSClass) (health error, at metav1.Time, secrets []string, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.known[of.Name]
	if k == nil || !k.hasHealth || k.uid != of.UID {
		return nil, at, nil, false
	}
	return k.health, k.healthFoundAt, slices.Sorted(maps.Keys(k.secrets)), true
}

// syncDelivering writes the condition Delivering of a Bind9Cluster, or removes the condition if the cluster is no class
// any more. Other conditions belong to the controller of the fleet.
func (c *classSync) syncDelivering(ctx context.Context, name string) error {
	cluster := c.index.ClusterByName(name)
	if cluster == nil {
		return nil
	}
	c.mu.Lock()
	known := c.known[name]
	var next *metav1.Condition
	// Without this, next stays nil: no zone names the cluster.
	if known != nil && known.uid == cluster.UID {
		if !known.hasHealth {
			c.mu.Unlock()
			return nil
		}
		delivering := judgeDelivering(ctx, name, known.health)
		next = &delivering
	}
	current := meta.FindStatusCondition(cluster.Status.Conditions, bind9.ConditionDelivering)
	// The informer still has the object as before the last write.
	if known != nil && known.writtenVersion == cluster.ResourceVersion {
		written := known.writtenCondition
		current = &written
	}
	c.mu.Unlock()
	if equalCondition(current, next) {
		return nil
	}
	if err := c.status.writeDelivering(ctx, cluster, current, next); err != nil || next == nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known == c.known[name] {
		known.writtenCondition, known.writtenVersion = *next, cluster.ResourceVersion
	}
	return nil
}

func equalCondition(a, b *metav1.Condition) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
}
