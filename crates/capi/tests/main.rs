//! The library from C and C++: programs compiled against the header and run.

mod instructions;

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Folder of the library built for these tests.
fn built() -> PathBuf {
    env::current_exe().unwrap().parent().unwrap().to_owned()
}

/// Runs a program, and returns its output.
fn run(command: &mut Command) -> String {
    let shown = format!("{command:?}");
    let done = command.output().unwrap_or_else(|error| panic!("{shown}: {error}"));
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{shown}: {}\n{out}{err}", done.status);
    out.into_owned()
}

/// Compiles a program with the given compiler and arguments. Returns the command that runs it.
fn compiled(folder: &Path, compiler: &str, words: &[&str]) -> Command {
    let program = folder.join("program");
    let mut command = Command::new(compiler);
    command
        .args(["-Wall", "-Wextra", "-Werror", "-O1", "-I"])
        .arg(root().join("crates/capi/include"));
    run(command.args(words).arg(built().join("libssdlab.so")).arg("-o").arg(&program));
    let mut command = Command::new(program);
    command.env("SSDLAB_CACHE", "off");
    command
}

/// A program that makes random calls, started by other words if there are any.
fn calls(before: &[&str], many: u64) -> String {
    let folder = tempfile::tempdir().unwrap();
    let source = root().join("crates/capi/tests/calls.c");
    let program = compiled(folder.path(), "cc", &["-std=c11", source.to_str().unwrap()]);
    let (program, many) = (program.get_program().to_str().unwrap(), many.to_string());
    let words = [before, &[program, folder.path().to_str().unwrap(), &many]].concat();
    run(Command::new(words[0]).args(&words[1..]).env("SSDLAB_CACHE", "off"))
}

#[test]
fn programs_in_c_get_what_the_header_says() {
    println!("{}", calls(&[], 5_000));
}

/// Neither is memory used that was given back, nor is a block lost. A thread's own handle stays, as in any program of
/// Rust.
#[test]
#[ignore = "nightly: needs valgrind, and a minute"]
fn a_million_random_calls() {
    let words = "valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite";
    println!("{}", calls(&words.split(' ').collect::<Vec<_>>(), 1_000_000));
}

#[test]
fn the_example_in_c_runs() {
    let folder = tempfile::tempdir().unwrap();
    let source = root().join("examples/embed/closed_loop.c");
    let words = ["-std=c11", source.to_str().unwrap()];
    let said = run(compiled(folder.path(), "cc", &words).arg("samsung-pm9a3"));
    assert!(said.starts_with("20000 reads, mean latency ") && said.contains("  cell "), "{said}");
}

/// Headers of gem5 that the example includes; each contains the stub.
const OF_GEM5: [&str; 7] = [
    "dev/storage/disk_image.hh",
    "sim/eventq.hh",
    "sim/core.hh",
    "sim/cur_tick.hh",
    "sim/serialize.hh",
    "base/logging.hh",
    "params/SsdDisk.hh",
];

#[test]
fn the_disk_for_gem5_has_the_times_of_the_library() {
    let folder = tempfile::tempdir().unwrap();
    for name in OF_GEM5 {
        let header = folder.path().join(name);
        fs::create_dir_all(header.parent().unwrap()).unwrap();
        fs::write(header, "#include \"gem5.hh\"\n").unwrap();
    }
    let (example, stub) = (root().join("examples/gem5"), root().join("crates/capi/tests/gem5"));
    let place = folder.path().join("dev/storage/ssd");
    fs::create_dir_all(&place).unwrap();
    fs::copy(example.join("ssd_disk.hh"), place.join("ssd_disk.hh")).unwrap();
    let [source, main] = [example.join("ssd_disk.cc"), stub.join("main.cc")];
    let (here, stub) = (folder.path().to_str().unwrap(), stub.to_str().unwrap());
    let words =
        ["-std=c++17", "-I", here, "-I", stub, source.to_str().unwrap(), main.to_str().unwrap()];
    run(compiled(folder.path(), "c++", &words).arg(folder.path()));
}

/// C type of a Rust type in a signature.
fn in_c(rust: &str) -> &str {
    match rust {
        "u32" => "uint32_t",
        "i32" => "int32_t",
        "u64" => "uint64_t",
        "usize" => "size_t",
        "*const c_char" => "const char *",
        "*mut c_char" => "char *",
        "*const *const c_char" => "const char *const *",
        "*mut u64" => "uint64_t *",
        "*mut usize" => "size_t *",
        "*mut CDrive" => "ssdlab_drive *",
        "*const CDrive" => "const ssdlab_drive *",
        "*mut *mut CDrive" => "ssdlab_drive **",
        "*const CRequest" => "const ssdlab_request *",
        "*mut *const CAnswer" => "const ssdlab_answer **",
        other => panic!("no type of C for {other}"),
    }
}

/// C prototypes by name, with normalised spaces.
type Prototypes = BTreeMap<String, String>;

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace("* ", "*").replace("( ", "(")
}

/// Prototypes of exported functions, from the library's source.
fn exported() -> Prototypes {
    let source = include_str!("../src/lib.rs");
    let functions = source.split("#[unsafe(no_mangle)]").skip(1);
    let prototype = |text: &str| {
        let (head, _) = text.split_once('{').unwrap();
        let (_, head) = head.split_once("extern \"C\" fn ").unwrap();
        let (name, rest) = head.split_once('(').unwrap();
        let (parameters, result) = rest.rsplit_once(')').unwrap();
        let one = |parameter: &str| {
            let (name, of) = parameter.trim().split_once(": ").unwrap();
            format!("{} {name}", in_c(of))
        };
        let parameters: Vec<_> =
            parameters.split(',').filter(|it| !it.trim().is_empty()).map(one).collect();
        let result = result.trim().strip_prefix("-> ").map_or("void", in_c);
        let all = if parameters.is_empty() { "void".to_owned() } else { parameters.join(", ") };
        (name.to_owned(), squeezed(&format!("{result} {name}({all});")))
    };
    functions.map(prototype).collect()
}

#[test]
fn the_header_declares_what_the_library_exports() {
    let header = include_str!("../include/ssdlab.h");
    let without_comments: String =
        header.split("/*").map(|part| part.split_once("*/").map_or(part, |it| it.1)).collect();
    let declared = |name: &str| {
        let at = without_comments.find(&format!("{name}(")).unwrap_or_else(|| panic!("{name}"));
        let begin = without_comments[..at].rfind([';', '}', '{']).map_or(0, |it| it + 1);
        let end = at + without_comments[at..].find(';').unwrap() + 1;
        squeezed(&without_comments[begin..end])
    };
    let exported = exported();
    assert!(exported.len() > 10, "{exported:?}");
    for (name, prototype) in &exported {
        assert_eq!(&declared(name), prototype);
    }
    assert_eq!(without_comments.matches(");").count(), exported.len());
    assert!(header.contains("#define SSDLAB_ABI 1u"));
}
