//! A server (`git2`, with libgit2 in C) that keeps a repository open.
//!
//! Kept by the open repository: every pack that it has seen, after `git gc` has removed it, with
//! its index mapped (`pack_backend__refresh` only adds packs); and the path of every folder
//! whose attributes were asked for, whether it has a `.gitattributes` or not
//! (`attr_cache_make_entry`).
//!
//! Lost: a box of 16 bytes for every call of `PackBuilder::write`, which makes it a raw pointer
//! and does not take it back.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use git2::{
    AttrCheckFlags, BranchType, Buf, Indexer, Oid, Repository, RepositoryInitOptions, Signature,
};
use plimsoll::{Inconclusive, Scenario};
use tempfile::TempDir;

struct Server {
    repository: Repository,
    head: Oid,
    /// The pack that the next `git gc` removes.
    pack: Option<PathBuf>,
    folder: TempDir,
}

fn setup() -> Server {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (repository, head) = create(folder.path()).expect("a repository");
    Server {
        repository,
        head,
        pack: None,
        folder,
    }
}

/// A repository with one commit.
fn create(folder: &Path) -> Result<(Repository, Oid)> {
    let mut options = RepositoryInitOptions::new();
    let repository = Repository::init_opts(folder, options.external_template(false))?;
    fs::create_dir_all(repository.path().join("objects/pack"))?;
    fs::write(folder.join(".gitattributes"), "*.png binary\n")?;

    let mut index = repository.index()?;
    index.add_path(Path::new(".gitattributes"))?;
    index.write()?;
    let tree = index.write_tree()?;
    let author = Signature::now("Ada", "ada@example.org")?;
    let head = repository.commit(
        Some("HEAD"),
        &author,
        &author,
        "first",
        &repository.find_tree(tree)?,
        &[],
    )?;
    Ok((repository, head))
}

fn open_again(server: &mut Server) -> Result<()> {
    server.repository = Repository::open(server.folder.path())?;
    Ok(())
}

/// A repository opened for one request.
fn open(server: &Server) -> Result<()> {
    let repository = Repository::open(server.folder.path())?;
    let mut walk = repository.revwalk()?;
    walk.push(server.head)?;
    for id in walk {
        assert_eq!(repository.find_commit(id?)?.tree()?.len(), 1);
    }
    assert_eq!(repository.statuses(None)?.len(), 0);
    Ok(())
}

/// Requests for what is not there.
fn missing(server: &Server, i: u64) {
    let repository = &server.repository;
    let branch = repository.find_branch(&format!("branch-{i}"), BranchType::Local);
    assert!(branch.is_err());
    let tree = repository.revparse_single(&format!("v{i}^{{tree}}"));
    assert!(tree.is_err());
    let other = Repository::open(server.folder.path().join("missing"));
    assert!(other.is_err());
}

/// Asks for an attribute of a file in a folder of its own.
fn attribute(server: &Server, i: u64) -> Result<()> {
    let path = format!("uploads/{i}/logo.png");
    let flags = AttrCheckFlags::FILE_THEN_INDEX;
    let diff = server
        .repository
        .get_attr(Path::new(&path), "diff", flags)?;
    assert!(diff.is_some());
    Ok(())
}

/// Writes a pack of one object and its index to the folder, and returns their path.
fn pack(server: &Server, object: Oid, folder: &Path) -> Result<PathBuf> {
    let mut builder = server.repository.packbuilder()?;
    builder.insert_object(object, None)?;
    builder.write(folder, 0o644)?;
    let name = builder.name()?.context("a pack has a name")?;
    Ok(folder.join(format!("pack-{name}.pack")))
}

/// The same by way of memory.
fn pack_in_memory(server: &Server, object: Oid, folder: &Path) -> Result<PathBuf> {
    let mut builder = server.repository.packbuilder()?;
    builder.insert_object(object, None)?;
    let mut pack = Buf::new();
    builder.write_buf(&mut pack)?;
    let mut indexer = Indexer::new(None, folder, 0o644, false)?;
    indexer.write_all(&pack)?;
    let name = indexer.commit()?;
    Ok(folder.join(format!("pack-{name}.pack")))
}

fn remove(pack: &Path) -> Result<()> {
    fs::remove_file(pack)?;
    fs::remove_file(pack.with_extension("idx"))?;
    Ok(())
}

/// A push, and what `git gc` does after it: the new object goes into a pack, and its loose file
/// and the pack before it are removed.
fn push(server: &mut Server, i: u64) -> Result<()> {
    let content = i.to_le_bytes();
    let object = server.repository.blob(&content)?;
    let objects = server.repository.path().join("objects");
    let new = pack_in_memory(server, object, &objects.join("pack"))?;
    let id = object.to_string();
    let (folder, file) = id.split_at(2);
    fs::remove_file(objects.join(folder).join(file))?;
    if let Some(old) = server.pack.replace(new) {
        remove(&old)?;
    }
    assert_eq!(server.repository.find_blob(object)?.content(), content);
    Ok(())
}

pub fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario::with_state("git2_open", setup, |server, _| open(server)),
        Scenario::with_state("git2_missing", setup, |server, i| missing(server, i)),
        // A folder for each upload.
        Scenario::with_state("git2_attributes", setup, |server, i| attribute(server, i)),
        Scenario::with_state("git2_attributes_opened_again", setup, |server, i| {
            if i.is_multiple_of(100) {
                open_again(server)?;
            }
            attribute(server, i)
        }),
        // A pack for each iteration.
        Scenario::with_state("git2_pack", setup, |server, _| {
            remove(&pack(server, server.head, server.folder.path())?)
        }),
        Scenario::with_state("git2_pack_in_memory", setup, |server, _| {
            remove(&pack_in_memory(server, server.head, server.folder.path())?)
        }),
        // libgit2's lists of packs grow by half when they are full. plimsoll cannot tell whether
        // such a list goes on, and says so.
        Scenario::with_state("git2_gc", setup, push).inconclusive(Inconclusive::Warn),
        Scenario::with_state("git2_gc_opened_again", setup, |server, i| {
            open_again(server)?;
            push(server, i)
        }),
    ]
}
