// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package transferclass

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/client/clientset/versioned"
	informers "kubi.zone/kubizone/api/client/informers/externalversions/kubizone/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	apiclass "kubi.zone/kubizone/pkg/apis/kubizone/class"
	"kubi.zone/kubizone/pkg/apis/precedence"
	"kubi.zone/kubizone/pkg/delivery/secrets"
	"kubi.zone/kubizone/pkg/dns/tsig"
	"kubi.zone/kubizone/pkg/primary"
)

const (
	// A watch of Secrets would need the right to list them.
	secretInterval = 5 * time.Second
	// remindInterval is for NOTIFYs of unconfirmed zones, because an earlier NOTIFY may be lost, or too early.
	remindInterval = 30 * time.Second
	// earlyTime is the time after a change of peers in which the catalog's NOTIFY is repeated, because BIND ignores a
	// NOTIFY during its query for the catalog.
	earlyTime  = time.Minute
	askTimeout = 10 * time.Second
)

type Config struct {
	Primary *primary.Primary
	Members *Members
	// The caller starts Classes and Zones, Zones with the transform Trim.
	Classes informers.DNSClassInformer
	Zones   informers.ZoneInformer
	Client  versioned.Interface
	Secrets secrets.Reader
	// Servers has the servers and Bind9Clusters of classes with a block bind9.
	Servers     *Servers
	GeneralKeys []tsig.Key
	// OnJoin is called for each zone that joins a served class.
	OnJoin func(zone cache.ObjectName)
}

type Controller struct {
	Config
	queue  workqueue.TypedRateLimitingInterface[task]
	synced []cache.InformerSynced
	begun  chan struct{}
	// Only Run uses serving (the Primary's classes) and failing (their last errors).
	serving map[string]*serving
	failing map[string]string
	keys    Keys
	reports reports
}

// task is an item of the Controller's queue. It updates the zones that the primary serves for a class.
type task struct {
	class string
	// peers is true if the task first reads the class's peers (its secondaries and their TSIG keys) again. A task with
	// remind has no class, and repeats the NOTIFY of unconfirmed zones. A task with report has none either, and reports
	// servers that do not confirm NOTIFY.
	peers, remind, report bool
}

type serving struct {
	*primary.Class
	dnsClass       *v1alpha1.DNSClass
	peers          Peers
	members        primary.Membership
	peersChangedAt time.Time
}

// Trim is an informer transform that keeps the fields of Zones read here and by the feed.
func Trim(object any) (any, error) {
	if zone, ok := object.(*v1alpha1.Zone); ok {
		paused, is := zone.Annotations[v1alpha1.AnnotationPaused]
		zone.ManagedFields, zone.Annotations, zone.Spec = nil, nil, v1alpha1.ZoneSpec{}
		if is {
			zone.Annotations = map[string]string{v1alpha1.AnnotationPaused: paused}
		}
	}
	return object, nil
}

// New makes a controller and registers with the informers. The caller starts the informers, then calls Run.
func New(config Config) (*Controller, error) {
	c := &Controller{
		Config: config, begun: make(chan struct{}), serving: map[string]*serving{}, failing: map[string]string{},
		reports: newReports(),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[task](100*time.Millisecond,
			time.Minute)),
	}
	c.keys.holdGeneral(config.GeneralKeys)
	c.Members.SetOnChange(func(class string) { c.queue.Add(task{class: class}) })
	classes, errClasses := c.Classes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    c.classChanged,
		UpdateFunc: func(_, after any) { c.classChanged(after) },
		DeleteFunc: c.classChanged,
	})
	zones, errZones := c.Zones.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		// A pause and a change of the signer alter how the primary serves the zone. Content comes by the feed.
		UpdateFunc: func(before, after any) {
			if zone, ok := after.(*v1alpha1.Zone); ok && (isPaused(before.(*v1alpha1.Zone)) != isPaused(zone) ||
				IsBySigner(before.(*v1alpha1.Zone)) != IsBySigner(zone)) {
				for name := range c.Members.classesOf(string(zone.UID)) {
					c.queue.Add(task{class: name})
				}
			}
		},
	})
	_, errClusters := c.Servers.clusters.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: c.clusterChanged, UpdateFunc: func(_, after any) { c.clusterChanged(after) }, DeleteFunc: c.clusterChanged,
	})
	if err := errors.Join(errClasses, errZones, errClusters); err != nil {
		return nil, fmt.Errorf("informers: %w", err)
	}
	c.synced = []cache.InformerSynced{classes.HasSynced, zones.HasSynced} // waitForSync waits for Servers
	return c, nil
}

func (c *Controller) clusterChanged(object any) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	if cluster, ok := object.(*bind9.Bind9Cluster); ok {
		c.queue.Add(task{class: apiclass.OfCluster(cluster).Name, peers: true})
	}
}

// classByName returns a class, or nil if there is none. name is that of a DNSClass, or NAMESPACE/NAME of a
// Bind9Cluster.
func (c *Controller) classByName(name string) (*v1alpha1.DNSClass, error) {
	if namespace, cluster, ok := apiclass.SplitCluster(name); ok {
		return c.Servers.classOf(namespace, cluster), nil
	}
	of, err := c.Classes.Lister().Get(name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return of, err
}

func (c *Controller) listClasses() []*v1alpha1.DNSClass {
	all := c.Servers.listClasses()
	for _, object := range c.Classes.Informer().GetStore().List() {
		all = append(all, object.(*v1alpha1.DNSClass))
	}
	return all
}

// askUID asks the API for the UID of a class, or returns "" if the class does not exist.
func (c *Controller) askUID(ctx context.Context, name string) (types.UID, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var live metav1.Object
	var err error
	if namespace, cluster, ok := apiclass.SplitCluster(name); ok {
		live, err = c.Client.Bind9V1alpha1().Bind9Clusters(namespace).Get(ctx, cluster, metav1.GetOptions{})
	} else {
		live, err = c.Client.KubizoneV1alpha1().DNSClasses().Get(ctx, name, metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return live.GetUID(), nil
}

func (c *Controller) classChanged(object any) {
	if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
		c.queue.Add(task{class: name.Name, peers: true})
	}
}

func isFetched(of *v1alpha1.DNSClass) bool {
	return of.Spec.Transfer != nil || of.Spec.Bind9 != nil && apiclass.ModeOf(of.Spec.Bind9) != v1alpha1.Bind9ModeUpdate
}

func isPaused(zone *v1alpha1.Zone) bool { return zone.Annotations[v1alpha1.AnnotationPaused] == "true" }

// WaitForSync returns when Run has tried to serve every class, or with the cause of ctx.
func (c *Controller) WaitForSync(ctx context.Context) error {
	select {
	case <-c.begun:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Run serves the classes until ctx ends. It first waits for classes, zones and Deliveries, because a class must be
// served with all members or not at all.
func (c *Controller) Run(ctx context.Context) {
	defer context.AfterFunc(ctx, c.queue.ShutDown)()
	if !cache.WaitForCacheSync(ctx.Done(), c.synced...) || c.Members.WaitForSync(ctx) != nil {
		return
	}
	c.Servers.waitForSync(ctx)
	// Classes are served in order of precedence for key names.
	all := c.listClasses()
	slices.SortFunc(all, func(a, b *v1alpha1.DNSClass) int { return rankOf(a).Compare(rankOf(b)) })
	for _, of := range all {
		c.syncTask(ctx, task{class: of.Name, peers: true})
	}
	close(c.begun)

	go c.addTasks(ctx)
	// The only goroutine that changes serving and failing, so no lock is needed.
	for {
		next, end := c.queue.Get()
		if end {
			return
		}
		c.syncTask(ctx, next)
		c.queue.Done(next)
	}
}

// addTasks enqueues the tasks that no event starts, until ctx ends.
func (c *Controller) addTasks(ctx context.Context) {
	secrets, remind, report := time.NewTicker(secretInterval), time.NewTicker(remindInterval), time.NewTicker(reportInterval)
	defer report.Stop()
	defer secrets.Stop()
	defer remind.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-remind.C:
			c.queue.Add(task{remind: true})
		case <-report.C:
			c.queue.Add(task{report: true})
		case <-secrets.C:
			// A changed Secret has no event here.
			for _, of := range c.listClasses() {
				if isFetched(of) {
					c.queue.Add(task{class: of.Name, peers: true})
				}
			}
		}
	}
}

// syncTask performs a task. A failure is logged once, and retried.
func (c *Controller) syncTask(ctx context.Context, at task) {
	var err error
	switch {
	case at.remind:
		c.renotify()
	case at.report:
		c.reportNotify(ctx)
	case at.peers:
		err = c.syncPeers(ctx, at.class)
	default:
		err = c.syncMembers(ctx, at.class)
	}
	switch {
	case err == nil:
		c.queue.Forget(at)
		delete(c.failing, at.class)
	case ctx.Err() == nil:
		if text := err.Error(); c.failing[at.class] != text {
			c.failing[at.class] = text
			klog.FromContext(ctx).Error(err, "A class cannot be served as specified; it is retried", "class", at.class)
		}
		c.queue.AddRateLimited(at)
	}
}

func (c *Controller) renotify() {
	for name, one := range c.serving {
		for _, uid := range c.Members.ListUnconfirmed(name) {
			one.Announce(uid)
		}
	}
}

// Bind9Clusters come last, because teams choose their keys.
func rankOf(of *v1alpha1.DNSClass) precedence.Rank {
	_, _, cluster := apiclass.SplitCluster(of.Name)
	return precedence.Rank{Last: cluster, Since: of.CreationTimestamp.Time, ID: of.Name}
}

var errUnread = errors.New("a Secret cannot be read")

// syncPeers reads the peers of a class, and serves the class with them, or ends that. An error leads to a retry.
func (c *Controller) syncPeers(ctx context.Context, name string) error {
	of, err := c.classByName(name)
	if err != nil {
		return err
	}
	known := c.serving[name]
	// The class was deleted, or deleted and made again.
	if known != nil && (of == nil || of.UID != known.dnsClass.UID) {
		c.endClass(name)
		known = nil
	}
	if of == nil || !isFetched(of) || of.Spec.Paused {
		// Secondaries keep their zones, because refused transfers change nothing.
		c.endClass(name)
		return nil
	}

	// Read the peers. If a Secret cannot be read, the class stays as it is.
	peers, err := c.readPeers(of, func(namespace, name string) (map[string][]byte, error) {
		data, err := c.Secrets.Get(ctx, namespace, name)
		if err != nil && !errors.Is(err, secrets.ErrNotFound) {
			err = fmt.Errorf("%w: %w", errUnread, err)
		}
		return data, err
	})
	if (errors.Is(err, errUnread) || errors.Is(err, errUnlisted)) && known != nil {
		klog.FromContext(ctx).V(1).Info("A class keeps its last Secrets", "class", name, "err", err)
		return nil
	}
	if err == nil {
		// Another class may have a key of the same name.
		err = c.decideKeys(of, peers)
	}
	if err != nil {
		c.endClass(name)
		return err
	}

	if known != nil {
		known.dnsClass = of
		if samePeers(known.peers, peers) { // see earlyTime
			if time.Since(known.peersChangedAt) < earlyTime {
				known.AnnounceCatalog()
			}
			return nil
		}
		if err := known.Update(peers.Class); err != nil {
			c.endClass(name)
			return err
		}
		known.peers, known.peersChangedAt = peers, time.Now()
		c.keys.Hold(of, peers)
		return nil
	}

	// A class served for the first time begins with all its zones.
	membership := c.readMembership(of)
	made, err := c.Primary.AddClass(peers.Class, membership)
	if err != nil {
		return err
	}
	c.serving[name] = &serving{made, of, peers, membership, time.Now()}
	c.keys.Hold(of, peers)
	c.announceJoined(name, primary.Membership{}, membership)
	klog.FromContext(ctx).V(1).Info("Serving a class", "class", name, "zones", len(membership.Members),
		"secondaries", len(peers.Secondaries))
	return nil
}

// readPeers reads the peers of a class from its block transfer or bind9.
func (c *Controller) readPeers(of *v1alpha1.DNSClass, secret secrets.GetFunc) (Peers, error) {
	if of.Spec.Bind9 == nil {
		return ReadPeers(of, secret)
	}
	servers, err := c.Servers.ListServers(of)
	if err != nil {
		return Peers{}, err
	}
	selected, err := ReadServers(of, servers, &c.keys, secret)
	return selected.Peers, err
}

func (c *Controller) endClass(name string) {
	if known := c.serving[name]; known != nil {
		known.Close()
		delete(c.serving, name)
		c.keys.release(name)
		klog.Background().Info("A class is not served any more", "class", name)
	}
}

// decideKeys returns an error if another class has the right to the name of a TSIG key in peers. The class with the
// name in its status has the right, or else the oldest. Keys of BIND servers yield to others (see Keys).
func (c *Controller) decideKeys(dnsClass *v1alpha1.DNSClass, peers Peers) error {
	if dnsClass.Spec.Bind9 != nil {
		return c.dropServers(dnsClass, peers.Claims()) // ReadServers has left out the names of others
	}
	order, err := c.Classes.Lister().List(labels.Everything())
	if err != nil {
		return err
	}
	slices.SortFunc(order, func(a, b *v1alpha1.DNSClass) int { return rankOf(a).Compare(rankOf(b)) })

	claimsOf := func(class *v1alpha1.DNSClass) map[string]string {
		if class.Name == dnsClass.Name {
			return peers.Claims()
		}
		if other := c.serving[class.Name]; other != nil && other.dnsClass.Spec.Bind9 == nil {
			return other.peers.Claims()
		}
		return nil
	}
	usesOf := func(class *v1alpha1.DNSClass) []string { return class.Status.KeyNames }
	_, lost := precedence.Decide(order, claimsOf, usesOf)

	for index, winner := range lost {
		loser := order[index].Name
		if loser == dnsClass.Name {
			return fmt.Errorf("DNSClass %s has another key of the same name; rename one of the keys, "+
				"in its Secret and at the secondaries", winner.Name)
		}
		// The class had been served before the class with the right was known. The retry reports the conflict.
		c.endClass(loser)
		c.queue.AddRateLimited(task{class: loser, peers: true})
	}
	return c.dropServers(dnsClass, peers.Claims())
}

// dropServers takes the keys in claims from BIND servers of other classes, which yield to a class that names its keys
// itself. Their classes stay served, without these servers.
func (c *Controller) dropServers(of *v1alpha1.DNSClass, claims map[string]string) error {
	for name := range c.keys.classesWith(claims) {
		other := c.serving[name]
		if name == of.Name || other == nil || other.dnsClass.Spec.Bind9 == nil {
			continue
		}
		others := other.peers.Claims()
		// Equal keys of one name do not conflict: two classes may use the same Secret.
		maps.DeleteFunc(others, func(key, meaning string) bool { meant, has := claims[key]; return !has || meant == meaning })
		if len(others) == 0 {
			continue
		}
		left := other.peers.dropNames(others)
		if err := other.Update(left.Class); err != nil {
			return err
		}
		other.peers = left
		c.keys.Hold(other.dnsClass, left)
	}
	return nil
}

func sameKey(a, b tsig.Key) bool {
	return a.Name == b.Name && a.Algorithm == b.Algorithm && bytes.Equal(a.MAC([]byte(a.Name)), b.MAC([]byte(b.Name)))
}

func samePeers(a, b Peers) bool {
	return a.Catalog == b.Catalog && slices.EqualFunc(a.Class.Keys, b.Class.Keys, sameKey) &&
		slices.Equal(a.Class.Notify, b.Class.Notify) && a.Class.TLS.Equal(b.Class.TLS) &&
		slices.EqualFunc(a.Class.Allow, b.Class.Allow, func(a, b primary.Rule) bool {
			return a.Key == b.Key && a.Signs == b.Signs && slices.Equal(a.Prefixes, b.Prefixes)
		})
}

// readMembership returns the zones of a class with the marks paused, signed and being signed. A zone without an object
// is a member without marks.
func (c *Controller) readMembership(of *v1alpha1.DNSClass) primary.Membership {
	now := c.Members.Membership(of.Name, of.CreationTimestamp.Time, of.Spec.Bind9 != nil)
	now.Paused, now.Signed, now.Signing = map[string]bool{}, map[string]bool{}, map[string]bool{}
	for uid, at := range c.Members.Zones(of.Name) {
		zone, err := c.Zones.Lister().Zones(at.Namespace).Get(at.Name)
		if err != nil {
			continue
		}
		if isPaused(zone) {
			now.Paused[uid] = true
		}
		if IsBySigner(zone) {
			now.Signed[uid] = true
		}
		if IsBeingSigned(zone) {
			now.Signing[uid] = true
		}
	}
	return now
}

// sameMembership ignores the serial.
func sameMembership(a, b primary.Membership) bool {
	return slices.Equal(a.Members, b.Members) && maps.Equal(a.Paused, b.Paused) && maps.Equal(a.Unconfirmed, b.Unconfirmed) &&
		maps.Equal(a.Signed, b.Signed) && maps.Equal(a.Signing, b.Signing)
}

// syncMembers passes changed members of a class to the primary. Members leave only if the API confirms that the class
// still exists. An error leads to a retry.
func (c *Controller) syncMembers(ctx context.Context, name string) error {
	known := c.serving[name]
	if known == nil {
		return nil
	}
	now := c.readMembership(known.dnsClass)
	if sameMembership(now, known.members) {
		return nil
	}

	stays := map[string]bool{}
	for _, member := range now.Members {
		stays[member.UID] = true
	}
	someLeave := slices.ContainsFunc(known.members.Members, func(member primary.Member) bool { return !stays[member.UID] })
	if someLeave {
		// A lost store has neither Deliveries nor the class, and the zones must stay.
		live, err := c.askUID(ctx, name)
		if err != nil {
			return fmt.Errorf("zones have to leave the class, and whether it still exists is unknown: %w", err)
		}
		// The class itself is gone, so its secondaries keep the zones as they are.
		if live != known.dnsClass.UID {
			c.endClass(name)
			return nil
		}
	}

	before := known.members
	known.SetMembers(now)
	known.members = now
	c.announceJoined(name, before, now)
	return nil
}

// announceJoined calls OnJoin for each zone of now that before did not have.
func (c *Controller) announceJoined(class string, before, now primary.Membership) {
	had := map[string]bool{}
	for _, m := range before.Members {
		had[m.UID] = true
	}
	zones := c.Members.Zones(class)
	for _, m := range now.Members {
		if at, ok := zones[m.UID]; ok && !had[m.UID] {
			c.OnJoin(at)
		}
	}
}
