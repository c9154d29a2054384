export const mutations: { name: string; patches: { file: string; from: string; to: string }[] }[] = []
