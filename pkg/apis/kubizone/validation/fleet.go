// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/pkg/apis/refusal"
)

const (
	// MaxFleetOctets bounds the stored size, half of this the spec.
	MaxFleetOctets   = 64 << 10
	MaxServersOfRole = 100

	maxTolerations  = 32
	maxLabels       = 32
	maxSourceRanges = 256
	maxPullSecrets  = 10
	minRotation     = time.Hour
	maxRotation     = 365 * 24 * time.Hour
	maxRepository   = 255
	splitFleet      = "name fewer addresses, or write prefixes"
	longestSuffix   = "-secondary-99"
)

var BINDVersions = []string{"9.18", "9.20"}

// FleetRules are the platform's rules for all BIND servers.
type FleetRules struct {
	// Repositories lists the allowed image repositories. A trailing slash allows all below.
	Repositories []string
}

var DefaultImageRepositories = []string{"docker.io/internetsystemsconsortium/bind9", "ghcr.io/firestoned/bindcar"}

func (r *FleetRules) allowsRepository(repository string) bool {
	return slices.ContainsFunc(r.Repositories, func(allowed string) bool {
		return repository == allowed || strings.HasSuffix(allowed, "/") && strings.HasPrefix(repository, allowed)
	})
}

var (
	// imageRepository matches a repository of OCI's distribution specification with a registry.
	imageRepository = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+$`)
	imageTag        = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	imageDigest     = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// ClusterBind9Provider validates a new provider (before is nil), or an update.
func ClusterBind9Provider(after, before *bind9.ClusterBind9Provider, rules FleetRules) field.ErrorList {
	judge := func(o *bind9.ClusterBind9Provider) field.ErrorList { return validateProvider(&o.Spec, &rules) }
	if before == nil {
		return append(validateNewFleetObject(&after.ObjectMeta, &after.Spec, &after.Status, false, len(longestSuffix)), judge(after)...)
	}
	errs := validateFleetUpdate(&after.ObjectMeta, &before.ObjectMeta, sizesOf(&after.ObjectMeta, &after.Spec, &after.Status),
		sizesOf(&before.ObjectMeta, &before.Spec, &before.Status))
	return append(errs, onlyNewErrors(judge(after), func() field.ErrorList { return judge(before) })...)
}

func Bind9Cluster(after, before *bind9.Bind9Cluster, rules FleetRules) field.ErrorList {
	judge := func(o *bind9.Bind9Cluster) field.ErrorList { return validateCluster(&o.Spec, &rules) }
	if before == nil {
		return append(validateNewFleetObject(&after.ObjectMeta, &after.Spec, &after.Status, true, len(longestSuffix)), judge(after)...)
	}
	errs := validateFleetUpdate(&after.ObjectMeta, &before.ObjectMeta, sizesOf(&after.ObjectMeta, &after.Spec, &after.Status),
		sizesOf(&before.ObjectMeta, &before.Spec, &before.Status))
	return append(errs, onlyNewErrors(judge(after), func() field.ErrorList { return judge(before) })...)
}

// Bind9Instance validates a new instance (before is nil), or an update. Role, cluster and kind of server are immutable
// (S11.3).
func Bind9Instance(after, before *bind9.Bind9Instance, rules FleetRules) field.ErrorList {
	judge := func(o *bind9.Bind9Instance) field.ErrorList { return validateInstance(&o.Spec, &rules) }
	if before == nil {
		return append(validateNewFleetObject(&after.ObjectMeta, &after.Spec, &after.Status, true, 0), judge(after)...)
	}
	errs := validateFleetUpdate(&after.ObjectMeta, &before.ObjectMeta, sizesOf(&after.ObjectMeta, &after.Spec, &after.Status),
		sizesOf(&before.ObjectMeta, &before.Spec, &before.Status))
	if after.Spec.Role != before.Spec.Role {
		errs = append(errs, refusal.Cite("S11.3", field.Invalid(specPath.Child("role"), after.Spec.Role,
			fmt.Sprintf("is immutable, and was %q: make another Bind9Instance and delete this one", before.Spec.Role))))
	}
	if clusterOf(&after.Spec) != clusterOf(&before.Spec) {
		errs = append(errs, refusal.Cite("S11.3", field.Invalid(specPath.Child("clusterRef", "name"), clusterOf(&after.Spec),
			fmt.Sprintf("is immutable, and was %q: make another Bind9Instance and delete this one", clusterOf(&before.Spec)))))
	}
	if (after.Spec.External == nil) != (before.Spec.External == nil) {
		errs = append(errs, refusal.Cite("S11.3",
			field.Forbidden(specPath.Child("external"), "a server that Kubizone runs cannot become an external server, nor the reverse: "+
				"create another Bind9Instance and delete this one")))
	}
	return append(errs, onlyNewErrors(judge(after), func() field.ErrorList { return judge(before) })...)
}

func FleetStatusUpdate(after, before *metav1.ObjectMeta, conditions []metav1.Condition, octetsAfter, octetsBefore int) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(after, before, field.NewPath("metadata"))
	errs = append(errs, validateOctets(field.NewPath("status"), "status", octetsAfter, octetsBefore, maxStatusOctets,
		"shorten its messages and lists")...)
	return append(errs, validateConditions(conditions, field.NewPath("status", "conditions"))...)
}

func clusterOf(spec *bind9.Bind9InstanceSpec) string {
	if spec.ClusterRef == nil {
		return ""
	}
	return spec.ClusterRef.Name
}

// The object's instances and Services add up to suffixLength characters to the name, and must be RFC 1035 labels.
func validateNewFleetObject(meta *metav1.ObjectMeta, spec, status interface{ Size() int }, namespaced bool, suffixLength int,
) field.ErrorList {
	path := field.NewPath("metadata")
	errs := apivalidation.ValidateObjectMeta(meta, namespaced, apivalidation.NameIsDNS1035Label, path)
	if most := utilvalidation.DNS1035LabelMaxLength - suffixLength; len(meta.Name) > most {
		errs = append(errs, refusal.Cite("S11.3", field.Invalid(path.Child("name"), cut(meta.Name),
			fmt.Sprintf("must be no more than %d characters: servers are named after it", most))))
	}
	return append(errs, validateSpecAndSize("object", sizesOf(meta, spec, status), partSizes{}, MaxFleetOctets/2, MaxFleetOctets,
		splitFleet)...)
}

func validateFleetUpdate(after, before *metav1.ObjectMeta, is, was partSizes) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(after, before, field.NewPath("metadata"))
	return append(errs, validateSpecAndSize("object", is, was, MaxFleetOctets/2, MaxFleetOctets, splitFleet)...)
}

func validateProvider(spec *bind9.ClusterBind9ProviderSpec, rules *FleetRules) field.ErrorList {
	errs := validateNamespaces(spec.Namespaces, MaxClassNamespaces, specPath.Child("namespaces"))
	errs = append(errs, validateSelector(spec.NamespaceSelector, specPath.Child("namespaceSelector"))...)
	return append(errs, validateCluster(&spec.Bind9ClusterSpec, rules)...)
}

// validateCluster validates what a Bind9Cluster and a ClusterBind9Provider have in common: the settings of all servers,
// and those of each role.
func validateCluster(spec *bind9.Bind9ClusterSpec, rules *FleetRules) field.ErrorList {
	errs := validateServerSettings(&spec.ServerSettings, rules)
	for name, role := range map[string]*bind9.RoleSettings{"primary": spec.Primary, "secondary": spec.Secondary} {
		if role == nil {
			continue
		}
		path := specPath.Child(name)
		if role.Replicas < 0 || role.Replicas > MaxServersOfRole {
			errs = append(errs, field.Invalid(path.Child("replicas"), role.Replicas, fmt.Sprintf("must be from 0 to %d", MaxServersOfRole)))
		}
		errs = append(errs, validateRoleLabels(role.Labels, path.Child("labels"))...)
		errs = append(errs, validateService(role.Service, path.Child("service"))...)
		errs = append(errs, validateResources(role.Resources, path.Child("resources"))...)
	}
	return append(errs, validateClusterDNSSEC(spec.DNSSEC, spec.Storage, specPath.Child("dnssec"))...)
}

// validateRoleLabels validates the labels of a role's servers. Labels of the group are the controller's, which finds
// its servers by them.
func validateRoleLabels(labels map[string]string, path *field.Path) field.ErrorList {
	if n := len(labels); n > maxLabels {
		return field.ErrorList{field.TooMany(path, n, maxLabels)}
	}
	var errs field.ErrorList
	for key, value := range labels {
		at := path.Key(key)
		errs = append(errs, validateLabel(key, value, at)...)
		if strings.HasPrefix(key, bind9.GroupName+"/") {
			errs = append(errs, refusal.Cite("S11.3",
				field.Forbidden(at, "labels of "+bind9.GroupName+" are the controller's: choose a key of your own")))
		}
	}
	return errs
}

func validateLabel(key, value string, path *field.Path) field.ErrorList {
	return append(rejectValue(key, utilvalidation.IsQualifiedName(key), path),
		rejectValue(value, utilvalidation.IsValidLabelValue(value), path)...)
}

// validateInstance validates a single server. It may be of a cluster, alone, or external.
func validateInstance(spec *bind9.Bind9InstanceSpec, rules *FleetRules) field.ErrorList {
	var errs field.ErrorList
	roles := []bind9.Role{bind9.RolePrimary, bind9.RoleSecondary, bind9.RoleSigner}
	if spec.Role == "" {
		errs = append(errs, field.Required(specPath.Child("role"), "Primary, Secondary or Signer"))
	}
	// A signer without a cluster would sign for no server.
	if spec.Role == bind9.RoleSigner && spec.ClusterRef == nil {
		errs = append(errs, refusal.Cite("S12.4",
			field.Required(specPath.Child("clusterRef"), "a Signer signs for the servers of a Bind9Cluster: "+
				"name it")))
	}
	errs = append(errs, validateChoice(spec.Role, specPath.Child("role"), roles...)...)
	if spec.ClusterRef != nil {
		errs = append(errs, validateObjectName(spec.ClusterRef.Name, "the metadata.name of a Bind9Cluster of the namespace",
			specPath.Child("clusterRef", "name"))...)
	}
	if spec.Replicas != nil && (*spec.Replicas < 0 || *spec.Replicas > 1) {
		errs = append(errs, refusal.Cite("S11.3",
			field.Invalid(specPath.Child("replicas"), *spec.Replicas, "must be 0 or 1: an instance is one server, "+
				"and a Bind9Cluster has as many as its primary.replicas and secondary.replicas say")))
	}
	errs = append(errs, validateServerSettings(&spec.ServerSettings, rules)...)
	errs = append(errs, validateService(spec.Service, specPath.Child("service"))...)
	errs = append(errs, validateResources(spec.Resources, specPath.Child("resources"))...)
	if spec.TSIGKey != nil && spec.ClusterRef != nil {
		errs = append(errs, refusal.Cite("S11.3", field.Forbidden(specPath.Child("tsigKey"), "the servers of a cluster have one key: "+
			"set tsigKey of the Bind9Cluster, and leave this out")))
	}
	if spec.External != nil {
		errs = append(errs, validateExternal(spec)...)
	}
	return errs
}

// validateExternal refuses the settings of a pod, and validates how an external server and its agent are reached.
func validateExternal(spec *bind9.Bind9InstanceSpec) field.ErrorList {
	var errs field.ErrorList
	for name, given := range map[string]bool{
		"version": spec.Version != "", "image": spec.Image != nil, "config": spec.Config != nil, "agent": spec.Agent != nil,
		"tsigKey": spec.TSIGKey != nil, "storage": spec.Storage != nil, "placement": spec.Placement != nil,
		"service": spec.Service != nil, "resources": spec.Resources != nil,
	} {
		if given {
			errs = append(errs, refusal.Cite("S11.3",
				field.Forbidden(specPath.Child(name), "spec.external is a server that is not run here: "+
					"configure it where it runs, and leave this out")))
		}
	}
	// Address and agent. The fleet runs nothing there, and only connects.
	external, path := spec.External, specPath.Child("external")
	errs = append(errs, validateServerAddress(external.Address, map[netip.AddrPort]bool{}, path.Child("address"))...)
	secure, wrong := validateServerURL(external.AgentURL, path.Child("agentURL"))
	errs = append(errs, wrong...)
	// A client with the token controls the server, so plain http needs consent.
	if len(wrong) == 0 && !secure {
		if !external.AllowPlainHTTP {
			errs = append(errs, field.Invalid(path.Child("agentURL"), cut(external.AgentURL), "is not an https URL: write https, or set "+
				"allowPlainHTTP, which lets every host on the path control the server"))
		}
		if len(external.CABundle) > 0 {
			errs = append(errs, field.Forbidden(path, "agentURL is not an https URL, so there is no TLS: write https, "+
				"or leave caBundle out"))
		}
	}
	errs = append(errs, validateCABundle(external.CABundle, path.Child("caBundle"))...)
	at := path.Child("tokenSecretRef")
	if token := external.TokenSecretRef; token == nil {
		errs = append(errs, field.Required(at, "the agent must know its clients: name a Secret with its bearer token"))
	} else {
		errs = append(errs, validateObjectName(token.Name, secretMissing, at.Child("name"))...)
		errs = append(errs, validateDataKey(token.Key, "token", at.Child("key"))...)
	}
	if external.TSIGSecretName != "" {
		errs = append(errs, validateObjectName(external.TSIGSecretName, "", path.Child("tsigSecretName"))...)
	}
	return errs
}

const secretMissing = "the metadata.name of a Secret of the namespace"

// validateServerSettings validates the common settings of providers, clusters and instances.
func validateServerSettings(settings *bind9.ServerSettings, rules *FleetRules) field.ErrorList {
	errs := validateChoice(settings.Version, specPath.Child("version"), BINDVersions...)
	errs = append(errs, validateImage(settings.Image, rules, specPath.Child("image"))...)
	errs = append(errs, validateConfig(settings.Config, specPath.Child("config"))...)
	if agent, path := settings.Agent, specPath.Child("agent"); agent != nil {
		errs = append(errs, validateChoice(agent.Kind, path.Child("kind"), bind9.AgentKubizone, bind9.AgentBindcar)...)
		errs = append(errs, validateImage(agent.Image, rules, path.Child("image"))...)
		errs = append(errs, validateResources(agent.Resources, path.Child("resources"))...)
	}
	if key := settings.TSIGKey; key != nil {
		errs = append(errs, validateChoice(key.Algorithm, specPath.Child("tsigKey", "algorithm"), bind9.KeyHMACSHA256, bind9.KeyHMACSHA384,
			bind9.KeyHMACSHA512)...)
		errs = append(errs, validateRotation(key.RotateAfter, specPath.Child("tsigKey", "rotateAfter"))...)
	}
	errs = append(errs, validateStorage(settings.Storage, specPath.Child("storage"))...)
	errs = append(errs, validatePlacement(settings.Placement, specPath.Child("placement"))...)
	if chosen := settings.ZoneNamespaces; chosen != nil {
		errs = append(errs, validateSelection(chosen.Names, chosen.Selector, specPath.Child("zoneNamespaces"))...)
	}
	return errs
}

// validateImage validates an image, whose repository must be in --bind9-image-repositories: the platform chooses which
// programs run with its rights (S11.5).
func validateImage(image *bind9.Image, rules *FleetRules, path *field.Path) field.ErrorList {
	if image == nil {
		return nil
	}
	var errs field.ErrorList
	at := path.Child("repository")
	switch {
	case image.Repository == "":
		errs = append(errs, field.Required(at, "the image with its registry: \"docker.io/internetsystemsconsortium/bind9\""))
	case len(image.Repository) > maxRepository:
		errs = append(errs, field.TooLong(at, "", maxRepository))
	case !imageRepository.MatchString(image.Repository):
		errs = append(errs, field.Invalid(at, cut(image.Repository), "is no repository with its registry, "+
			"as \"docker.io/internetsystemsconsortium/bind9\"; tag and digest have fields of their own"))
	case !rules.allowsRepository(image.Repository):
		errs = append(errs, refusal.Cite("S11.5",
			field.Forbidden(at, fmt.Sprintf("%q is none of the repositories that the server allows (%s); "+
				"use one of these, or have a cluster admin add it to --bind9-image-repositories", image.Repository,
				strings.Join(rules.Repositories, ", ")))))
	}
	// Tag and digest are optional. Without both, the BIND version is the tag of the server's image.
	if image.Tag != "" && !imageTag.MatchString(image.Tag) {
		errs = append(errs, field.Invalid(path.Child("tag"), cut(image.Tag), "is no tag of an image: letters, digits, _, . and -, "+
			"at most 128"))
	}
	if image.Digest != "" && !imageDigest.MatchString(image.Digest) {
		errs = append(errs, field.Invalid(path.Child("digest"), cut(image.Digest), "is no digest: write sha256: and 64 hexadecimal digits"))
	}
	errs = append(errs, validateChoice(image.PullPolicy, path.Child("pullPolicy"), bind9.PullAlways, bind9.PullIfNotPresent,
		bind9.PullNever)...)
	return append(errs, validateSet(image.PullSecrets, maxPullSecrets, path.Child("pullSecrets"),
		func(name string, at *field.Path) field.ErrorList { return validateObjectName(name, secretMissing, at) })...)
}

// validateConfig validates the address lists and the rate limit of named.conf.
func validateConfig(config *bind9.Config, path *field.Path) field.ErrorList {
	if config == nil {
		return nil
	}
	errs := validateAddressList(config.AllowQuery, path.Child("allowQuery"))
	errs = append(errs, validateAddressList(config.AllowTransfer, path.Child("allowTransfer"))...)
	errs = append(errs, validateAddressList(config.UpdateForwarding, path.Child("updateForwarding"))...)
	if limit, at := config.RateLimit, path.Child("rateLimit"); limit != nil {
		if n := limit.ResponsesPerSecond; n < 1 || n > 1000 {
			errs = append(errs, field.Invalid(at.Child("responsesPerSecond"), n, "must be from 1 to 1000 answers a second"))
		}
		errs = append(errs, validateAddressList(limit.ExemptClients, at.Child("exemptClients"))...)
	}
	return errs
}

func validateRotation(every *metav1.Duration, at *field.Path) field.ErrorList {
	if every == nil || every.Duration >= minRotation && every.Duration <= maxRotation && every.Duration%time.Minute == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(at, every.Duration.String(), "must be whole minutes from 1h to 8760h, which is 365 days")}
}

// validateStorage validates the volume of a server. Only a claim has a storage class, and needs a capacity.
func validateStorage(storage *bind9.Storage, path *field.Path) field.ErrorList {
	if storage == nil {
		return nil
	}
	var errs field.ErrorList
	if storage.Type == "" {
		errs = append(errs, field.Required(path.Child("type"), "EmptyDir or PersistentVolumeClaim"))
	}
	errs = append(errs, validateChoice(storage.Type, path.Child("type"), bind9.StorageEmptyDir, bind9.StoragePersistentVolumeClaim)...)
	claim := storage.Type == bind9.StoragePersistentVolumeClaim
	// An emptyDir may have a capacity too, as its limit.
	switch at := path.Child("capacity"); {
	case storage.Capacity == "" && claim:
		errs = append(errs, field.Required(at, "the size of the claim, as 1Gi"))
	case storage.Capacity != "":
		capacity, err := storage.Capacity.Parse()
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(at, cut(string(storage.Capacity)), err.Error()))
		case capacity.Sign() <= 0:
			errs = append(errs, field.Invalid(at, storage.Capacity, "must be more than 0"))
		}
	}
	if storage.StorageClassName != "" {
		if !claim {
			errs = append(errs, field.Forbidden(path.Child("storageClassName"), "an emptyDir has none: leave it out, "+
				"or set type to PersistentVolumeClaim"))
		}
		errs = append(errs, validateObjectName(storage.StorageClassName, "", path.Child("storageClassName"))...)
	}
	return errs
}

// validatePlacement refuses a placement for which kube-apiserver would refuse the pod: the author would see no error
// there.
func validatePlacement(placement *bind9.Placement, path *field.Path) field.ErrorList {
	if placement == nil {
		return nil
	}
	var errs field.ErrorList
	for key, value := range placement.NodeSelector {
		errs = append(errs, validateLabel(key, value, path.Child("nodeSelector").Key(key))...)
	}
	errs = append(errs, validateEach(placement.Tolerations, maxTolerations, path.Child("tolerations"), validateToleration)...)
	if placement.PriorityClassName != "" {
		errs = append(errs, validateObjectName(placement.PriorityClassName, "", path.Child("priorityClassName"))...)
	}
	return errs
}

// validateToleration refuses a toleration for which kube-apiserver would refuse the pod.
func validateToleration(of bind9.Toleration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if of.Key != "" {
		errs = append(errs, rejectValue(of.Key, utilvalidation.IsQualifiedName(of.Key), path.Child("key"))...)
	} else if of.Operator != bind9.TolerationExists {
		errs = append(errs, field.Invalid(path.Child("operator"), of.Operator, "must be Exists if there is no key"))
	}
	errs = append(errs, validateChoice(of.Operator, path.Child("operator"), bind9.TolerationEqual, bind9.TolerationExists)...)
	errs = append(errs, validateChoice(of.Effect, path.Child("effect"), bind9.TaintNoSchedule, bind9.TaintPreferNoSchedule,
		bind9.TaintNoExecute)...)
	errs = append(errs, rejectValue(of.Value, utilvalidation.IsValidLabelValue(of.Value), path.Child("value"))...)
	if of.Operator == bind9.TolerationExists && of.Value != "" {
		errs = append(errs, field.Forbidden(path.Child("value"), "operator Exists compares no value: leave it out"))
	}
	if of.TolerationSeconds != nil && of.Effect != bind9.TaintNoExecute {
		errs = append(errs, field.Forbidden(path.Child("tolerationSeconds"), "only with effect NoExecute"))
	}
	return errs
}

// validateResources validates requests and limits of CPU and memory. A request above its limit would keep the pod from
// being created.
func validateResources(of *bind9.Resources, path *field.Path) field.ErrorList {
	if of == nil {
		return nil
	}
	var errs field.ErrorList
	requests, limits := ptr.Deref(of.Requests, bind9.Amounts{}), ptr.Deref(of.Limits, bind9.Amounts{})
	for _, one := range []struct {
		name          string
		request, most bind9.Quantity
	}{
		{"cpu", requests.CPU, limits.CPU},
		{"memory", requests.Memory, limits.Memory},
	} {
		request, wrong := validateAmount(one.request, path.Child("requests", one.name))
		limit, wrongLimit := validateAmount(one.most, path.Child("limits", one.name))
		errs = append(append(errs, wrong...), wrongLimit...)
		if one.most != "" && len(wrong)+len(wrongLimit) == 0 && request.Cmp(limit) > 0 {
			errs = append(errs, field.Invalid(path.Child("requests", one.name), one.request, "is more than the limit, "+string(one.most)))
		}
	}
	return errs
}

// validateAmount returns the parsed quantity, or 0 for "".
func validateAmount(of bind9.Quantity, path *field.Path) (resource.Quantity, field.ErrorList) {
	if of == "" {
		return resource.Quantity{}, nil
	}
	amount, err := of.Parse()
	switch {
	case err != nil:
		return amount, field.ErrorList{field.Invalid(path, cut(string(of)), err.Error())}
	case amount.Sign() < 0:
		return amount, field.ErrorList{field.Invalid(path, of, "must not be less than 0")}
	}
	return amount, nil
}

// validateService validates the Service of a server. Fields that its type ignores are refused, because their author
// expects an effect.
func validateService(of *bind9.Service, path *field.Path) field.ErrorList {
	if of == nil {
		return nil
	}
	errs := validateChoice(of.Type, path.Child("type"), bind9.ServiceClusterIP, bind9.ServiceNodePort, bind9.ServiceLoadBalancer)
	errs = append(errs, apivalidation.ValidateAnnotations(of.Annotations, path.Child("annotations"))...)
	errs = append(errs, validateChoice(of.ExternalTrafficPolicy, path.Child("externalTrafficPolicy"), bind9.TrafficCluster,
		bind9.TrafficLocal)...)
	if of.ExternalTrafficPolicy != "" && (of.Type == "" || of.Type == bind9.ServiceClusterIP) {
		errs = append(errs, field.Forbidden(path.Child("externalTrafficPolicy"), "a ClusterIP has no traffic from outside: leave it out, "+
			"or choose another type"))
	}
	// Ranges without a load balancer would protect nothing, although their author relies on them.
	at := path.Child("loadBalancerSourceRanges")
	if len(of.LoadBalancerSourceRanges) > 0 && of.Type != bind9.ServiceLoadBalancer {
		errs = append(errs, field.Forbidden(at, "only with type LoadBalancer"))
	}
	return append(errs, validateSet(of.LoadBalancerSourceRanges, maxSourceRanges, at, func(text string, at *field.Path) field.ErrorList {
		if prefix, err := netip.ParsePrefix(text); err != nil || prefix != prefix.Masked() {
			return field.ErrorList{field.Invalid(at, cut(text), "is no prefix: write one as 192.0.2.0/24 or 2001:db8::/32")}
		}
		return nil
	})...)
}

func Bind9ClusterWarnings(spec *bind9.Bind9ClusterSpec) []string {
	var warnings []string
	if (spec.Primary == nil || spec.Primary.Replicas == 0) && (spec.Secondary == nil || spec.Secondary.Replicas == 0) {
		warnings = append(warnings, "spec.primary.replicas and spec.secondary.replicas are 0, so it has no servers")
	}
	return boundWarnings(append(warnings, configWarnings(spec.Config)...))
}

func Bind9InstanceWarnings(spec *bind9.Bind9InstanceSpec) []string {
	if spec.External == nil {
		return boundWarnings(configWarnings(spec.Config))
	}
	if spec.External.AllowPlainHTTP && strings.HasPrefix(strings.ToLower(spec.External.AgentURL), "http:") {
		return []string{"spec.external.agentURL: the token is sent over http, where every host on the way can read it and control " +
			"the server"}
	}
	return nil
}

// configWarnings warns of an address list such as ["!192.0.2.0/24"], which excludes clients and includes none.
func configWarnings(config *bind9.Config) []string {
	if config == nil {
		return nil
	}
	var warnings []string
	judge := func(list []string, path string) {
		if len(list) > 0 && !slices.ContainsFunc(list, func(entry string) bool { return !strings.HasPrefix(entry, "!") }) {
			warnings = append(warnings, path+": excludes clients and includes none, so it matches no client; add any at its end")
		}
	}
	judge(config.AllowQuery, "spec.config.allowQuery")
	judge(config.AllowTransfer, "spec.config.allowTransfer")
	judge(config.UpdateForwarding, "spec.config.updateForwarding")
	return warnings
}

const maxListEntries = 256

var addressWords = []string{"any", "none", "localhost", "localnets"}

// validateAddressList accepts BIND's address_match_list without keys, named lists and nested lists.
func validateAddressList(entries []string, path *field.Path) field.ErrorList {
	return validateEach(entries, maxListEntries, path, func(entry string, at *field.Path) field.ErrorList {
		if wrong := checkListEntry(entry); wrong != "" {
			return field.ErrorList{refusal.Cite("S11.4", field.Invalid(at, cut(entry), wrong))}
		}
		return nil
	})
}

// checkListEntry returns a message about an element that BIND would refuse, or that names a key or another list, or ""
// (S11.4).
func checkListEntry(entry string) string {
	const forms = "write any, none, localhost, localnets, an IP address, or a prefix as 192.0.2.0/24 or 2001:db8::/32, " +
		"with ! before what is excluded"
	text := strings.TrimPrefix(entry, "!")
	switch {
	case slices.Contains(addressWords, strings.ToLower(text)):
		return ""
	case strings.HasPrefix(text, "!"):
		return "has two !: write one, or none"
	}
	if address, err := netip.ParseAddr(text); err == nil {
		if address.Zone() != "" {
			return "has a scope zone, which has a meaning on one machine only: write an address without it"
		}
		return ""
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return "is no element of an address list: " + forms
	}
	if prefix != prefix.Masked() {
		return fmt.Sprintf("has bits set after its length, which BIND refuses: write %s, or the address alone", prefix.Masked())
	}
	return ""
}
