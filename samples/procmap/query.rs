// SPDX-License-Identifier: GPL-2.0

//! query PID ADDRESS - print what is mapped at an address of a process

use std::os::raw::{c_int, c_ulong};
use std::os::unix::io::AsRawFd;
use std::{env, fs, io, process};

const PROCMAP_QUERY: c_ulong = 0xc0686611;

/// struct procmap_query of <linux/fs.h>
#[repr(C)]
#[derive(Default)]
struct Query {
    size: u64,
    flags_and_addr: [u64; 2],
    vma_start: u64,
    vma_end_flags_page_size: [u64; 3],
    vma_offset: u64,
    inode: u64,
    dev_major_minor: [u32; 2],
    name_size: u32,
    build_id_size: u32,
    name_addr: u64,
    build_id_addr: u64,
}

extern "C" {
    fn ioctl(fd: c_int, request: c_ulong, ...) -> c_int;
}

/// One line about an address, or one that says why there is none
fn ask(pid: &str, addr: u64) -> Result<String, String> {
    let path = format!("/proc/{}/maps", pid);
    let file = fs::File::open(&path).map_err(|error| format!("{}: {}", path, error))?;
    let (mut name, mut build_id) = ([0u8; 4096], [0u8; 20]);
    let mut query = Query {
        size: std::mem::size_of::<Query>() as u64,
        flags_and_addr: [0, addr],
        name_size: name.len() as u32,
        build_id_size: build_id.len() as u32,
        name_addr: name.as_mut_ptr() as u64,
        build_id_addr: build_id.as_mut_ptr() as u64,
        ..Default::default()
    };
    if unsafe { ioctl(file.as_raw_fd(), PROCMAP_QUERY, &mut query as *mut Query) } != 0 {
        let error = io::Error::last_os_error();
        return Err(match error.raw_os_error() {
            Some(2) => "no mapping there".to_string(), // ENOENT
            Some(25) => "this kernel has no PROCMAP_QUERY".to_string(), // ENOTTY
            _ => error.to_string(),
        });
    }
    let build_id: String = build_id[..query.build_id_size as usize]
        .iter()
        .map(|byte| format!("{:02x}", byte))
        .collect();
    let name = String::from_utf8_lossy(&name[..(query.name_size as usize).saturating_sub(1)]);
    Ok(format!(
        "{:x} offset {:x} build ID {} {}",
        addr,
        addr - query.vma_start + query.vma_offset,
        if build_id.is_empty() {
            "none"
        } else {
            &build_id
        },
        if name.is_empty() { "anonymous" } else { &name }
    ))
}

fn main() {
    let words: Vec<String> = env::args().collect();
    let addr = words
        .get(2)
        .and_then(|word| u64::from_str_radix(word, 16).ok());
    if words.len() != 3 || addr.is_none() {
        eprintln!("usage: query PID ADDRESS");
        process::exit(2);
    }
    match ask(&words[1], addr.unwrap()) {
        Ok(line) => println!("{}", line),
        Err(why) => {
            eprintln!("{}", why);
            process::exit(1);
        }
    }
}
