// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	bind9 "kubi.zone/kubizone/api/bind9/v1alpha1"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
)

var ownVersions = []schema.GroupVersion{v1alpha1.SchemeGroupVersion, bind9.SchemeGroupVersion}

// ownKinds has the kinds of objects in Kubizone's API groups, by version.
var ownKinds = func() map[schema.GroupVersion][]string {
	scheme := runtime.NewScheme()
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(bind9.AddToScheme(scheme))
	all := map[schema.GroupVersion][]string{}
	for _, version := range ownVersions {
		for _, kind := range slices.Sorted(maps.Keys(scheme.KnownTypes(version))) {
			o, err := scheme.New(version.WithKind(kind))
			if _, isObject := o.(metav1.Object); err == nil && isObject {
				all[version] = append(all[version], kind)
			}
		}
	}
	return all
}()

// UnknownKind returns the reason why no server of Kubizone takes the object, and the remedy, if its apiVersion is of a
// group of Kubizone, or nearly so, and has no such kind. For example, the kind "Recrod" of kubi.zone/v1alpha1 is
// unknown. The reason is "" for a known kind, and for the groups of others.
func UnknownKind(o *unstructured.Unstructured) (reason, fix string) {
	is := o.GroupVersionKind()
	kind, given := is.Kind, o.GetAPIVersion()
	at := slices.IndexFunc(ownVersions, func(own schema.GroupVersion) bool { return own.Group == is.Group })
	if at < 0 {
		return unknownGroup(kind, given, is.Group)
	}
	version, other := ownVersions[at], versionOf(kind)
	switch {
	case is.Version != version.Version: // kubi.zone/v1
		return fmt.Sprintf("apiVersion %s is unknown: the version is %s", given, version.Version), "write apiVersion: " + version.String()
	case slices.Contains(ownKinds[version], kind):
		return "", ""
	case other != "":
		return fmt.Sprintf("%s has no kind %s, which is of %s", given, kind, other), "write apiVersion: " + other
	}
	return fmt.Sprintf("%s has no kind %s", given, kind), didYouMean(kind, ownKinds[version]) + "kubectl api-resources " +
		"--api-group=" + version.Group + " lists the kinds"
}

// unknownGroup tells a misspelt group, as in kubizone/v1alpha1, from the groups of others.
func unknownGroup(kind, given, group string) (reason, fix string) {
	at := slices.IndexFunc(ownVersions, func(own schema.GroupVersion) bool {
		return slices.Contains(ownKinds[own], kind) && countEdits(group, own.Group) <= maxEdits
	})
	if at < 0 {
		return "", ""
	}
	return fmt.Sprintf("apiVersion %s is unknown", given), "did you mean apiVersion: " + ownVersions[at].String() + "?"
}

func versionOf(kind string) string {
	for _, version := range ownVersions {
		if slices.Contains(ownKinds[version], kind) {
			return version.String()
		}
	}
	return ""
}

// maxEdits is the number of letters in which a misspelt word differs from the word that is meant.
const maxEdits = 2

func didYouMean(typed string, words []string) string {
	edits := func(word string) int { return countEdits(strings.ToLower(typed), strings.ToLower(word)) }
	nearest := slices.MinFunc(words, func(x, y string) int { return edits(x) - edits(y) })
	if edits(nearest) > maxEdits {
		return ""
	}
	return "did you mean " + nearest + "? "
}

// countEdits returns the number of letters to insert, delete or replace (Levenshtein's distance), or maxEdits+1 for
// words whose lengths differ by more than maxEdits.
func countEdits(from, to string) int {
	if max(len(from), len(to))-min(len(from), len(to)) > maxEdits {
		return maxEdits + 1
	}
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(from) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(to) {
			replaced := diagonal
			if from[i] != to[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
		}
	}
	return row[len(to)]
}
