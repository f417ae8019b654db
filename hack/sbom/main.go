// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:], os.Getenv("SOURCE_DATE_EPOCH"), os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "sbom: %v\n", err)
		os.Exit(1)
	}
}

func run(arguments []string, epoch string, out io.Writer) error {
	if len(arguments) < 3 {
		return fmt.Errorf("write sbom NAMESPACE VERSION PROGRAM..., and the time in SOURCE_DATE_EPOCH")
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w; write seconds since 1970", err)
	}
	var programs []program
	for _, path := range arguments[2:] {
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		programs = append(programs, program{filepath.Base(path), fmt.Sprintf("%x", sha256.Sum256(text)), info})
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(describePrograms(arguments[0], arguments[1], time.Unix(seconds, 0).UTC(), programs))
}

type program struct {
	name   string
	sha256 string
	info   *debug.BuildInfo
}

// SPDX defines the types: https://spdx.github.io/spdx-spec/v2.3/.
type document struct {
	SPDXVersion       string         `json:"spdxVersion"`
	DataLicense       string         `json:"dataLicense"`
	SPDXID            string         `json:"SPDXID"`
	Name              string         `json:"name"`
	DocumentNamespace string         `json:"documentNamespace"`
	CreationInfo      creation       `json:"creationInfo"`
	Packages          []component    `json:"packages"`
	Relationships     []relationship `json:"relationships"`
}

type creation struct {
	Created  time.Time `json:"created"`
	Creators []string  `json:"creators"`
}

type component struct {
	SPDXID           string      `json:"SPDXID"`
	Name             string      `json:"name"`
	VersionInfo      string      `json:"versionInfo"`
	Purpose          string      `json:"primaryPackagePurpose"`
	DownloadLocation string      `json:"downloadLocation"`
	FilesAnalyzed    bool        `json:"filesAnalyzed"`
	LicenseDeclared  string      `json:"licenseDeclared,omitempty"`
	Checksums        []checksum  `json:"checksums,omitempty"`
	ExternalRefs     []reference `json:"externalRefs,omitempty"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	Element string `json:"spdxElementId"`
	Type    string `json:"relationshipType"`
	Related string `json:"relatedSpdxElement"`
}

// A module of several programs is listed once.
func describePrograms(namespace, version string, created time.Time, programs []program) document {
	const root = "SPDXRef-DOCUMENT"
	d := document{
		SPDXVersion: "SPDX-2.3", DataLicense: "CC0-1.0", SPDXID: root,
		Name: namespace[strings.LastIndex(namespace, "/")+1:], DocumentNamespace: namespace,
		CreationInfo: creation{created, []string{"Tool: kubizone-sbom-" + strings.TrimPrefix(version, "v")}},
	}
	ids := map[string]string{} // of modules, by package URL
	for _, p := range programs {
		id := "SPDXRef-Program-" + p.name
		d.Packages = append(d.Packages, component{
			SPDXID: id, Name: p.name, VersionInfo: version, Purpose: "APPLICATION", DownloadLocation: "NOASSERTION",
			LicenseDeclared: "Apache-2.0", Checksums: []checksum{{"SHA256", p.sha256}},
		})
		d.Relationships = append(d.Relationships, relationship{root, "DESCRIBES", id})
		for _, m := range modulesOf(p.info, version) {
			url := "pkg:golang/" + strings.ToLower(m.Path) + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
			module, known := ids[url]
			if !known {
				module = "SPDXRef-Module-" + strconv.Itoa(len(ids)+1)
				ids[url] = module
				d.Packages = append(d.Packages, component{
					SPDXID: module, Name: m.Path, VersionInfo: m.Version, Purpose: "LIBRARY", DownloadLocation: "NOASSERTION",
					ExternalRefs: []reference{{"PACKAGE-MANAGER", "purl", url}},
				})
			}
			d.Relationships = append(d.Relationships, relationship{id, "DEPENDS_ON", module})
		}
	}
	return d
}

// modulesOf includes the standard library. A module of this repository, whose version go reports as "(devel)", gets the
// release's version. A module replaced by a directory keeps its name.
func modulesOf(info *debug.BuildInfo, version string) []debug.Module {
	modules := []debug.Module{{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		listed := debug.Module{Path: m.Path, Version: m.Version}
		if r := m.Replace; r != nil {
			listed.Version = r.Version
			if r.Version != "(devel)" {
				listed.Path = r.Path
			}
		}
		if listed.Version == "(devel)" {
			listed.Version = version
		}
		modules = append(modules, listed)
	}
	slices.SortFunc(modules, func(a, b debug.Module) int { return cmp.Compare(a.Path, b.Path) })
	return modules
}
